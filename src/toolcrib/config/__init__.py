"""Configuration: the files that people already have, as typed values."""

from toolcrib.config.http import (
    ConsoleRole,
    HttpSettings,
    OAuthSettings,
    PrincipalSettings,
    Profile,
    RoleSettings,
    TokenSettings,
    entry_of,
    principal_name,
    profile_of,
    roles_of,
)
from toolcrib.config.itself import is_toolcrib, starts_itself
from toolcrib.config.load import Config, config_from_mapping, known_inputs, load_config
from toolcrib.config.models import (
    ApprovalSettings,
    DataFlowSettings,
    DirectSettings,
    DynamicSettings,
    Effect,
    JournalSettings,
    ResultSettings,
    ScriptSettings,
    SearchSettings,
    ServerOptions,
    Settings,
    SmallModelSettings,
)
from toolcrib.config.paths import user_config_dir, user_state_dir
from toolcrib.config.policy import ArgumentTest, PolicyRule, PolicySettings, rule_label
from toolcrib.config.server import ResolvedServer, ServerConfig, Transport
from toolcrib.config.shared_file import SharedFile
from toolcrib.config.switches import Switches
from toolcrib.config.tokens import TOKENS_FILE, TokenFile, digest_of, new_token
from toolcrib.config.variables import Input, Variables, input_variable, system_keyring

__all__ = [
    "TOKENS_FILE",
    "ApprovalSettings",
    "ArgumentTest",
    "Config",
    "ConsoleRole",
    "DataFlowSettings",
    "DirectSettings",
    "DynamicSettings",
    "Effect",
    "HttpSettings",
    "Input",
    "JournalSettings",
    "OAuthSettings",
    "PolicyRule",
    "PolicySettings",
    "PrincipalSettings",
    "Profile",
    "ResolvedServer",
    "ResultSettings",
    "RoleSettings",
    "ScriptSettings",
    "SearchSettings",
    "ServerConfig",
    "ServerOptions",
    "Settings",
    "SharedFile",
    "SmallModelSettings",
    "Switches",
    "TokenFile",
    "TokenSettings",
    "Transport",
    "Variables",
    "config_from_mapping",
    "digest_of",
    "entry_of",
    "input_variable",
    "is_toolcrib",
    "known_inputs",
    "load_config",
    "new_token",
    "principal_name",
    "profile_of",
    "roles_of",
    "rule_label",
    "starts_itself",
    "system_keyring",
    "user_config_dir",
    "user_state_dir",
]
