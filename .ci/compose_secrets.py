"""Makes the secrets that `docker-compose.yml` hands to its containers.

    python3 .ci/compose_secrets.py FOLDER

What is there already stays: delete a file to have it made anew, `database_*`, `broker_url_*` and `redis_users` together
with their like, since they hold the same passwords. The folder is closed to other users; the files in it are not,
for the containers run as a user of their own.
"""

import secrets
import sys
from pathlib import Path

# What a play worker may do in Redis, and nothing else: take matches, send results, read sources by hash, and see which
# tournaments are cancelled and which environments are wanted. Celery's transport needs the rest.
WORKER_RIGHTS = (
    "resetchannels resetkeys -@all"
    " %RW~matches* %RW~unacked %RW~unacked_index %RW~unacked_mutex %W~results* %RW~_kombu.binding*"
    " %R~src:* %R~cancelled %R~environments"
    " +@connection -client|kill -client|list +info +ping +brpop +lpush +rpush +llen +zadd +zrem +zrange +hset +hdel"
    " +hget +sadd +smembers +sismember +multi +exec +watch +unwatch +discard +set +evalsha +script|load +get"
    " (+get +del ~unacked_mutex)"
)
COORDINATOR_RIGHTS = "~* &* +@all -@dangerous +info +keys"


def make(database: str, coordinator: str, worker: str, signing_key: str) -> dict[str, str]:
    """Returns the content of every file, from the passwords of the database and of the two Redis accounts."""
    return {
        "database_password": database,
        "database_url": f"postgresql+psycopg://smear:{database}@db:5432/smear",
        "broker_url_coordinator": f"redis://coordinator:{coordinator}@redis:6379/0",
        "broker_url_worker": f"redis://worker:{worker}@redis:6379/0",
        "redis_users": (
            "user default off\n"
            f"user coordinator on >{coordinator} {COORDINATOR_RIGHTS}\n"
            f"user worker on >{worker} {WORKER_RIGHTS}\n"
        ),
        "signing_key": signing_key,
    }


def main(folder: Path) -> None:
    """Writes the files that are missing."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name, text in make(*(secrets.token_hex(24) for _ in range(4))).items():
        path = folder / name
        if path.exists():
            print(f"{path}: kept")
        else:
            path.write_text(text if text.endswith("\n") else text + "\n", "utf-8")
            path.chmod(0o644)  # the user of the container is another than the one who runs this
            print(f"{path}: made")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
