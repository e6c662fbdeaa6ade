# The server, with a model that is mounted:
#
#   docker build -t btg-seq2seq .
#   docker run --rm -p 8000:8000 -v ./runs/german:/model:ro btg-seq2seq
#
# It computes on the CPU, and runs as a user without rights. It has no model of its own.

FROM python:3.11-slim

# Compiled kernels and the glossaries of the server are kept in the home directory.
RUN useradd --create-home --uid 1000 btg
WORKDIR /home/btg

# Dependencies first: they change less often than the code. The index has torch without CUDA.
COPY constraints.txt pyproject.toml README.md LICENSE ./build/
COPY btg_seq2seq ./build/btg_seq2seq
RUN pip install --no-cache-dir --constraint build/constraints.txt \
        --extra-index-url https://download.pytorch.org/whl/cpu './build[serve,draw]' \
    && rm -rf build

USER btg
ENV NUMBA_CACHE_DIR=/home/btg/.cache/numba PYTHONUNBUFFERED=1
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD python -c "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/health', timeout=4)"
ENTRYPOINT ["btg", "serve"]
CMD ["/model", "--host", "0.0.0.0", "--port", "8000"]
