"""`bumble expand`: the whole of a text that a prompt shows cut or cleared."""

from __future__ import annotations

from typing import Annotated

import typer

from bumble.cli import output
from bumble.cli.entity_command import reads
from bumble.cli.opening import Opened
from bumble.errors import RecordMissingError

app = typer.Typer(rich_markup_mode=None)


@app.command()
@reads
def expand(
    opened: Opened,
    reference: Annotated[
        str, typer.Argument(metavar="REF", help="The 12 letters and digits behind `ref`.")
    ],
) -> None:
    """Print the whole of a text that the entity was shown cut or cleared."""
    from bumble.prompt import expand
    from bumble.recall import whole_record

    try:
        text = expand.everywhere(opened.entity, reference)
    except RecordMissingError as problem:
        try:
            text = whole_record.find(opened.entity, opened.zone, reference).text
        except RecordMissingError:
            raise problem from None
    output.result(opened.shell, "expand", {"ref": reference, "text": text}, text)
