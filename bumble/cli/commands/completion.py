"""`bumble completion`: the script that has a shell complete what is typed."""

from __future__ import annotations

from typing import Annotated

import typer

from bumble.cli import output
from bumble.cli.command import plain
from bumble.cli.process import Shell
from bumble.errors import UsageError

BASH = r"""# Source this in ~/.bashrc: source <(bumble completion bash)
_bumble() {
    local offered
    COMPREPLY=()
    while IFS= read -r offered; do
        COMPREPLY+=("$offered")
    done < <(bumble --complete bash "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -o nosort -F _bumble bumble 2>/dev/null || complete -o default -F _bumble bumble
"""
ZSH = r"""#compdef bumble
# Source this in ~/.zshrc, behind compinit if that is there: source <(bumble completion zsh)
_bumble() {
    local -a offered
    offered=("${(@f)$(bumble --complete zsh "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ -n "${offered[1]}" ]]; then
        compadd -- "${offered[@]}"
    else
        _files
    fi
}
if [[ "${funcstack[1]}" == _bumble ]]; then
    _bumble "$@"
else
    (( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i; }
    compdef _bumble bumble
fi
"""
FISH = r"""# Source this in ~/.config/fish/config.fish: bumble completion fish | source
function __bumble_offered
    set -l typed (commandline -opc) (commandline -ct)
    bumble --complete fish $typed[2..-1] 2>/dev/null
end
function __bumble_offers
    set -l offered (__bumble_offered)
    test (count $offered) -gt 0
end
complete -c bumble -f -k -n __bumble_offers -a '(__bumble_offered)'
"""
SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}


@plain
def completion(
    process: Shell,
    shell: Annotated[str, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")],
) -> None:
    """Print the script that completes commands, options, ids and names in your shell."""
    if shell not in SCRIPTS:
        raise UsageError(f"There is no {shell!r} here; there are {', '.join(SCRIPTS)}.")
    if process.json:
        data = {"shell": shell, "script": SCRIPTS[shell]}
        output.result(process, "completion", data, [])
    else:
        output.piece(SCRIPTS[shell])
