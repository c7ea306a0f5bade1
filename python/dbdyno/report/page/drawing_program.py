"""The program behind `drawing.py`: draws pictures and puts the page's script together.

Reads a job per line, in JSON, and answers each with a line: an empty object, or why it can't be
drawn, or which file can't be written and why. It ends when its standard input closes.
"""

import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

import vl_convert


@cache
def script(vl_version: str) -> str:
    """Vega, Vega-Lite and Vega-Embed as one script, safe inside a `script` element."""
    made: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=vl_version)
    return made.replace("</script", "<\\/script")


def main() -> None:
    """Its only argument is the release of Vega-Lite."""
    (vl_version,) = sys.argv[1:]
    for line in sys.stdin:
        job = json.loads(line)
        answer = {}
        try:
            _do(job, vl_version)
        except OSError as error:
            answer = {"unwritten": job.get("svg", "the page's script"), "why": error.strerror}
        except ValueError as error:
            answer = {"why": str(error)}
        sys.stdout.write(f"{json.dumps(answer)}\n")
        sys.stdout.flush()


def _do(job: dict[str, Any], vl_version: str) -> None:
    if "script" in job:
        Path(job["script"]).write_text(script(vl_version), "utf-8")
        return
    spec = Path(job["spec"]).read_text("utf-8")
    svg: str = vl_convert.vegalite_to_svg(spec, vl_version=vl_version)
    Path(job["svg"]).write_text(svg, "utf-8")
    if "png" in job:
        png: bytes = vl_convert.svg_to_png(svg, scale=job["scale"])
        Path(job["png"]).write_bytes(png)


if __name__ == "__main__":
    main()
