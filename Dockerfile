# One image for all parts: alone it serves a site on SQLite and plays on its own cores,
#     docker build -t smear-tournament . && docker run -p 8000:8000 -v smear:/data smear-tournament
# and docker-compose.yml makes a cluster of it.
FROM python:3.13-slim-bookworm AS base
# The sandbox loads its filter through this library; without it no bot is played.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends libseccomp2 \
    && rm -rf /var/lib/apt/lists/*

FROM base AS build
WORKDIR /app
COPY pyproject.toml requirements.lock README.md LICENSE ./
COPY .ci/bootstrap.py .ci/
# Before the sources, so that a change of theirs installs nothing anew; the sources are found in /app when they come.
RUN mkdir bots dashboard tournament workers \
    && VENV=/opt/smear python .ci/bootstrap.py with server,distributed true

FROM base AS compile
WORKDIR /app
RUN apt-get update \
    && apt-get install --yes --no-install-recommends gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*
COPY pyproject.toml requirements.lock README.md LICENSE ./
COPY .ci/bootstrap.py .ci/compile.py .ci/
COPY bots bots
COPY dashboard dashboard
COPY tournament tournament
COPY workers workers
RUN VENV=/opt/compile python .ci/bootstrap.py compile /opt/smear-compiled

FROM base
COPY --from=build /opt/smear /opt/smear
# The core as machine code: the same games in less time (docs/decisions/0091).
COPY --from=compile /opt/smear-compiled /opt/smear/smear-compiled
COPY bots /app/bots
COPY dashboard /app/dashboard
COPY tournament /app/tournament
COPY workers /app/workers
# Compiled now: a container that may write nothing could not keep what it compiles.
RUN /opt/smear/bin/python -m compileall -q /app && install --directory --owner=10001 --group=10001 /data
ENV PATH=/opt/smear/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
# The database is `tournament.db` here unless TOURNAMENT_DATABASE_URL names another.
WORKDIR /data
VOLUME /data
USER 10001:10001
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/healthz', timeout=3)"]
ENTRYPOINT ["tournament"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8000"]
