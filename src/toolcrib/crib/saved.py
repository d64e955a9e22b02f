"""`Scripts`: the saved scripts of a crib: kept in its state directory, offered as tools, run like any other call."""

from pathlib import Path
from typing import TYPE_CHECKING

from toolcrib.broker import LOCAL, Caller, Options, Outcome
from toolcrib.catalog import SAVED_SCRIPTS, JsonObject, OnProgress
from toolcrib.crib.sources import SourceTable
from toolcrib.errors import UsageError, shown

if TYPE_CHECKING:
    from toolcrib.crib.crib import Crib
    from toolcrib.sandbox import Finding, Language
    from toolcrib.scripts import SavedScript, SavedScripts

SCRIPTS_FOLDER = "scripts"
"""Where, in the state directory, saved scripts are kept."""


class Scripts:
    """The saved scripts of a crib.

    They are the user's own: whoever may use the crib's library or command line may save and remove them; no model may.
    Each is the tool `scripts.NAME` to every caller that the policy lets see it, and its calls are those of whoever
    calls it.

    Args:
        crib: The crib.
        folder: Where they are kept.
        sources: Takes them as a source, once there are some.
    """

    def __init__(self, crib: "Crib", folder: Path, sources: SourceTable) -> None:
        self._crib = crib
        self._path = folder
        self._sources = sources
        self._source: SavedScripts | None = None

    def follow(self) -> None:
        """Bring the catalog up to what is kept, also by other instances. Costs a look into the folder, if there is
        one."""
        if self._source is None and not self._path.is_dir():
            return
        source = self._opened()
        if source.folder.changed() and (source.folder.scripts or self._sources.find(SAVED_SCRIPTS)):
            self._sources.put(source)
            self._sources.take(SAVED_SCRIPTS, source.definitions)

    def list(self) -> "list[SavedScript]":
        """All saved scripts that can be used, by name."""
        self.follow()
        return list(self._opened().folder.scripts.values())

    def broken(self) -> dict[str, str]:
        """The files that can't be used, by the script's name, and why."""
        self.follow()
        return dict(self._opened().folder.broken)

    def get(self, name: str) -> "SavedScript":
        """A saved script.

        Raises:
            UsageError: There is none, or its file can't be used.
        """
        self.follow()
        folder = self._opened().folder
        name = name.removeprefix(f"{SAVED_SCRIPTS}.")
        if name in folder.scripts:
            return folder.scripts[name]
        if name in folder.broken:
            raise UsageError(
                f"The script {name} can't be used: {folder.broken[name]}", hint="Save it anew, or remove it."
            )
        known = ", ".join(list(folder.scripts)[:20]) or "none"
        raise UsageError(f"There is no script {shown(name)}.", hint=f"The saved ones: {known}.")

    async def save(
        self,
        name: str,
        code: str,
        *,
        description: str = "",
        language: "Language" = "python",
        parameters: JsonObject | None = None,
        replace: bool = False,
        check: bool = True,
    ) -> "tuple[SavedScript, list[Finding]]":
        """Save a script, once it is looked through like one that is to be run; returns it with what was found.

        Args:
            name: Its name, in lower case; it becomes the tool `scripts.NAME`.
            code: The script. One that takes arguments has a function `main`, which is called with them; of Python,
                its signature and docstring say what they are.
            description: What it does; empty takes what its text says of itself.
            language: What it is written in.
            parameters: The JSON Schema of its arguments, where the signature does not say it.
            replace: Whether one of that name may be replaced.
            check: Whether what is surely wrong keeps it from being saved.

        Raises:
            UsageError: The name or the script can't be used, it is wrong, or the name is taken.
            SandboxError: Nothing on this machine can check it.
            StoreError: It can't be written.
        """
        from toolcrib.scripts import SavedScript

        script = SavedScript(name, code, description, language, parameters).checked()
        findings = await self._crib.check_code(code, language=language)
        wrong = [each for each in findings if each.is_error]
        if check and wrong:
            lines = "".join(f"\n  line {each.line}: {each.message} {each.hint}".rstrip() for each in wrong)
            raise UsageError(f"The script was not saved, since it can't run:{lines}")
        kept = self._opened().folder.save(script, replace=replace)
        self.follow()
        return kept, findings

    def remove(self, name: str) -> None:
        """Delete a script, also one whose file can't be used.

        Raises:
            UsageError: There is none.
            StoreError: It can't be deleted.
        """
        self._opened().folder.remove(name.removeprefix(f"{SAVED_SCRIPTS}."))
        self.follow()

    async def run(
        self,
        name: str,
        arguments: JsonObject | None = None,
        *,
        retry_of: str = "",
        on_progress: OnProgress | None = None,
        caller: Caller = LOCAL,
    ) -> Outcome:
        """Run a script: a call of its tool, which goes through the broker like every other.

        Args:
            name: The script.
            arguments: Its arguments.
            retry_of: A run of it that failed: calls with effects that it made are not made again.
            on_progress: Receives progress.
            caller: Who asks.

        Raises:
            UsageError: There is none.
            ToolcribError: As `Crib.call`.
        """
        from toolcrib.scripts import RETRY_META

        script = self.get(name)
        options = Options(on_progress=on_progress, meta={RETRY_META: retry_of} if retry_of else {})
        return await self._crib.request("tools/call", f"{SAVED_SCRIPTS}.{script.name}", arguments, caller, options)

    def _opened(self) -> "SavedScripts":
        if self._source is None:
            # Sandboxes and all that belongs to them are loaded by those alone who have scripts.
            from toolcrib.scripts import SavedScripts, ScriptFolder

            sources = self._sources
            self._source = SavedScripts(
                ScriptFolder(self._path),
                self._crib.script_runner,
                self._crib.registry,
                lambda: {each.id for each in sources},
                sources.effect,
            )
        return self._source
