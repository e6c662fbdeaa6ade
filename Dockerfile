# The server, with a model that is mounted:
#
#   docker build -t btg-seq2seq .
#   docker run --rm -p 127.0.0.1:8000:8000 -v ./runs/german:/model:ro btg-seq2seq
#
# Arguments of btg serve may follow. See docs/serving.md.
#
# It computes on the CPU, and runs as a user without rights, who must be able to read the model.

FROM python:3.11-slim-bookworm

# Compiled kernels, and the glossaries of the server, which are worth a volume.
RUN useradd --create-home --uid 1000 btg \
    && install --directory --owner btg --group btg \
        /home/btg/.cache /home/btg/.cache/numba /data
WORKDIR /home/btg

# Dependencies first: they change less often than the code. A package index with builds of torch for
# the CPU, --build-arg INDEX=URL, saves several gigabytes of CUDA.
ARG INDEX=""
COPY constraints.txt pyproject.toml README.md LICENSE /build/
COPY btg_seq2seq/__init__.py /build/btg_seq2seq/
RUN pip install --no-cache-dir --constraint /build/constraints.txt \
        ${INDEX:+--extra-index-url "$INDEX"} '/build[serve]'
COPY btg_seq2seq /build/btg_seq2seq
RUN pip install --no-cache-dir --no-deps --force-reinstall /build && rm -rf /build

USER btg
ENV NUMBA_CACHE_DIR=/home/btg/.cache/numba PYTHONUNBUFFERED=1
VOLUME /data
EXPOSE 8000
# The first start compiles kernels.
HEALTHCHECK --interval=30s --timeout=5s --start-period=300s \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/health', timeout=4)"]
# All addresses, since those of the container are its own; -p decides who reaches them.
ENTRYPOINT ["btg", "serve", "--host", "0.0.0.0", "--port", "8000", "--glossaries", "/data/glossaries.sqlite"]
CMD ["/model"]
