# TRIES: import the referee, the sandbox, the store, Celery and the data base driver; MUST: fail to import or reach nothing useful. EXPECT: plays
import importlib


class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        for m in (
            "workers", "workers.referee", "workers.sandbox", "workers.sandbox.zygote", "workers.sandbox.lockdown",
            "workers.sandbox.policy", "workers.sandbox.host", "workers.sandbox.guest", "tournament.store",
            "tournament.models", "tournament.settings", "tournament.cli", "tournament.schedule", "tournament.adapter",
            "tournament.replay", "tournament.intake", "dashboard", "bots", "sqlmodel", "sqlalchemy", "django", "celery",
            "psycopg", "redis", "pip", "setuptools", "pyseccomp",
        ):
            try:
                importlib.import_module(m)
                print("PWNED imported", m)
            except Exception as e:
                print("blocked", m, type(e).__name__)
        return view.legal[0]
