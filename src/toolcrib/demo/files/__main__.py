"""`python -m toolcrib.demo.files`: the file library as a stdio server."""

from toolcrib.demo.files import APP

if __name__ == "__main__":
    APP.serve()
