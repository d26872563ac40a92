"""Opens a page in a real browser: Chromium runs the test's script in it, which reports results."""

import html
import json
import re
import shutil
import subprocess

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no chromium (apt install chromium)")
TRIES = 3  # on a busy machine the browser may print the page before its script has ended
SEEN = re.compile(r'<pre id="seen">(.*?)</pre>', re.DOTALL)
RECORD = """<script>
const errors = [];
addEventListener("error", (event) => errors.push(event.message));
console.error = console.warn = (...words) => errors.push(words.join(" "));
</script>"""


def open_page(folder, text, script, width=1000, dark=False):
    """Opens a page, runs a script in it, and returns the script's `seen`, with "errors".

    Parameters
    ----------
    folder : path
        A folder private to the test, for the page and the browser's profile.
    text : str
        The page.
    script : str
        JavaScript that fills the object `seen`; it may await.
    """
    tail = f"""<script>const seen = {{}};
    (async () => {{
      try {{ {script} }} catch (error) {{ errors.push(String(error)); }}
      const made = document.createElement("pre"); made.id = "seen";
      made.textContent = JSON.stringify({{...seen, errors}}); document.body.append(made);
    }})();</script>"""
    path = folder / "page.html"
    path.write_text(text.replace("<head>", f"<head>{RECORD}", 1) + tail, encoding="utf-8")
    options = [f"--user-data-dir={folder / 'profile'}", f"--window-size={width},900"]
    options += ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000"]
    options += ["--force-dark-mode"] * dark
    command = [CHROMIUM, *options, "--dump-dom", path.as_uri()]
    for _ in range(TRIES):
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
        found = SEEN.findall(done.stdout)
        if found:
            return json.loads(html.unescape(found[0]))
    raise AssertionError(f"the script did not end in {TRIES} tries: {done.stdout[-500:]}")
