"""`python -m toolcrib.demo.notes`: the notebook as a stdio server."""

from toolcrib.demo.notes import APP

if __name__ == "__main__":
    APP.serve()
