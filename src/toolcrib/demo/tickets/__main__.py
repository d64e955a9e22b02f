"""`python -m toolcrib.demo.tickets`: the ticket tracker as a stdio server."""

from toolcrib.demo.tickets import APP

if __name__ == "__main__":
    APP.serve()
