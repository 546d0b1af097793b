"""A worker that answers and waits, for `test_supervise.py`."""

from laguna_engine.native.child import serve

if __name__ == "__main__":
    serve(lambda request: request)
