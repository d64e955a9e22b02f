"""The clients that people use MCP servers with: their files found, read, taken over and given back."""

from toolcrib.clients.finding import ClientFile, ClientServer, client_files, read_client_file
from toolcrib.clients.importing import Candidate, Imports, import_servers, move_secrets, plan_import
from toolcrib.clients.installing import Change, Installations, entry_for
from toolcrib.clients.known import CLIENTS, Client, Machine, client

__all__ = [
    "CLIENTS",
    "Candidate",
    "Change",
    "Client",
    "ClientFile",
    "ClientServer",
    "Imports",
    "Installations",
    "Machine",
    "client",
    "client_files",
    "entry_for",
    "import_servers",
    "move_secrets",
    "plan_import",
    "read_client_file",
]
