"""A headless Chromium, driven through the pipe that it offers for that: no port, no driver, no package.

The messages are those of the DevTools protocol, https://chromedevtools.github.io/devtools-protocol/. It reaches no network: every
name resolves to nothing, and what a page asks for is recorded.
"""

import base64
import fcntl
import json
import os
import shutil
import subprocess
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

PATH = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

OPTIONS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-extensions", "--mute-audio"),
    *("--host-resolver-rules=MAP * ~NOTFOUND", "--remote-debugging-pipe"),
)
PATIENCE_SECONDS = 120
"""Long enough for a machine that does something else; who waits goes on at once when what is waited for happens."""

ONE_FONT = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
<dir>{folder}</dir>
<cachedir>{folder}/cache</cachedir>
</fontconfig>
"""


class Chromium:
    """One browser with one page; with `font`, that file is the only font that it has, whatever a page asks for."""

    def __init__(self, font: Path | None = None) -> None:
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        environment = dict(os.environ)
        if font:
            fonts = Path(self.profile.name) / "fonts-of-test"
            fonts.mkdir()
            shutil.copy(font, fonts)
            (fonts / "fonts.conf").write_text(ONE_FONT.format(folder=fonts), encoding="utf-8")
            environment["FONTCONFIG_FILE"] = str(fonts / "fonts.conf")
        their_input, self._to = os.pipe()
        self._from, their_output = os.pipe()
        # The shell gives the browser its pipe under the numbers 3 and 4, which it expects; ours are others.
        their_input, their_output = _high(their_input), _high(their_output)
        give = f'exec 3<&{their_input} 4>&{their_output} {their_input}<&- {their_output}>&-; exec "$0" "$@"'
        self._process = subprocess.Popen(
            ["bash", "-c", give, str(PATH), *OPTIONS, f"--user-data-dir={self.profile.name}", "about:blank"],
            pass_fds=(their_input, their_output),
            env=environment,
            stderr=subprocess.DEVNULL,
        )
        os.close(their_input)
        os.close(their_output)
        self._waiting = b""
        self._number = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        page = next(target for target in self.send("Target.getTargets")["targetInfos"] if target["type"] == "page")
        self._session = self.send("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.send(f"{domain}.enable")

    def close(self) -> None:
        """End the browser."""
        self._session = None
        os.close(self._to)
        self._process.terminate()
        self._process.wait(timeout=20)
        os.close(self._from)
        self.profile.cleanup()

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and give back its answer."""
        self._number += 1
        session = {"sessionId": self._session} if self._session else {}
        message = {"id": self._number, "method": method, "params": parameters, **session}
        content = json.dumps(message).encode() + b"\0"
        while content:
            content = content[os.write(self._to, content) :]
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]
            self.events.append(answer)

    def _receive(self) -> dict[str, Any]:
        parts = [self._waiting]
        while b"\0" not in parts[-1]:
            part = os.read(self._from, 1 << 20)
            assert part, "the browser has ended"
            parts.append(part)
        message, _, self._waiting = b"".join(parts).partition(b"\0")
        return json.loads(message)

    def open(self, page: Path) -> None:
        """Open a file and wait until it has loaded."""
        self.events.clear()
        self.send("Page.navigate", url=page.resolve().as_uri())
        self.wait_for("document.readyState === 'complete' && location.protocol === 'file:'")

    def evaluate(self, expression: str) -> Any:
        """The value of an expression in the page, awaited if it is a promise."""
        found = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def wait_for(self, expression: str) -> None:
        """Wait until an expression is true in the page."""
        end = time.monotonic() + PATIENCE_SECONDS
        while not self.evaluate(expression):
            assert time.monotonic() < end, f"never true: {expression}"
            time.sleep(0.02)

    def click(self, selector: str, nth: int = 0) -> None:
        """Press the mouse in the middle of an element."""
        # What scrolls into view may be laid out only then, and move.
        place = self.evaluate(
            f"""(async () => {{
              const element = document.querySelectorAll({json.dumps(selector)})[{nth}];
              for (;;) {{
                element.scrollIntoView({{ block: "center", behavior: "instant" }});
                await new Promise(requestAnimationFrame);
                const box = element.getBoundingClientRect();
                const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
                if (element.contains(document.elementFromPoint(x, y))) return [x, y];
              }}
            }})()"""
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1)

    def press(self, key: str, text: str = "") -> None:
        """Press a key."""
        code = {"Enter": 13, " ": 32, "Tab": 9}[key]
        common = {"key": key, "windowsVirtualKeyCode": code, "code": {" ": "Space"}.get(key, key)}
        self.send("Input.dispatchKeyEvent", type="keyDown", **common, **({"text": text} if text else {}))
        self.send("Input.dispatchKeyEvent", type="keyUp", **common)

    def write(self, text: str) -> None:
        """Write into what has the focus."""
        self.send("Input.insertText", text=text)

    def size(self, width: int, height: int = 900, *, phone: bool = False, scale: float = 1) -> None:
        """Give the page a size in CSS pixels."""
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=phone)

    def media(self, kind: str = "", scheme: str = "light") -> None:
        """Show the page as on a screen or in print, in the light or in the dark."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.send("Emulation.setEmulatedMedia", media=kind, features=features)

    def picture(self, path: Path, **options: Any) -> None:
        """Write what is seen as PNG."""
        path.write_bytes(base64.b64decode(self.send("Page.captureScreenshot", format="png", **options)["data"]))

    def print(self, path: Path) -> None:
        """Write the page as PDF."""
        path.write_bytes(base64.b64decode(self.send("Page.printToPDF", preferCSSPageSize=True)["data"]))

    def requested(self) -> list[str]:
        """The addresses that were asked for since the page was opened, without those inside the page."""
        urls = [event["params"]["request"]["url"] for event in self.events if event.get("method") == "Network.requestWillBeSent"]
        return [url for url in urls if not url.startswith("data:")]

    def complaints(self) -> list[Any]:
        """Give all messages of the browser's console since the page was opened."""
        kinds = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded", "Page.javascriptDialogOpening")
        return [event["params"] for event in self.events if event.get("method") in kinds]

    def violations(self, where: str = "document") -> list[Any]:
        """Let axe-core look at the page, or at a part of it; gives its violations by rule."""
        package = find_spec("axe_playwright_python")  # not imported, since it would import another driver of browsers
        assert package is not None
        self.evaluate((Path(package.submodule_search_locations[0]) / "axe.min.js").read_text(encoding="utf-8"))
        return self.evaluate(
            f"axe.run({where}, {{resultTypes: ['violations']}}).then((found) =>"
            " found.violations.map(({id, nodes}) => [id, nodes.slice(0, 3).map((node) => node.html)]))"
        )


def _high(descriptor: int) -> int:
    """The same file under a number from 10 on."""
    other = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(descriptor)
    return other
