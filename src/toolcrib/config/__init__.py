"""Configuration: the files that people already have, as typed values."""

from toolcrib.config.load import Config, config_from_mapping, load_config
from toolcrib.config.models import Effect, SearchSettings, ServerOptions, Settings
from toolcrib.config.paths import user_config_dir, user_state_dir
from toolcrib.config.server import ResolvedServer, ServerConfig, Transport
from toolcrib.config.variables import Input, Variables, system_keyring

__all__ = [
    "Config",
    "Effect",
    "Input",
    "ResolvedServer",
    "SearchSettings",
    "ServerConfig",
    "ServerOptions",
    "Settings",
    "Transport",
    "Variables",
    "config_from_mapping",
    "load_config",
    "system_keyring",
    "user_config_dir",
    "user_state_dir",
]
