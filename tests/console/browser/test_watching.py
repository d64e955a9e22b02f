"""What looks at pages sees what is wrong with them: each fault of a made-up page is found, and none of a sound one."""

from typing import Any

import pytest

pytestmark = pytest.mark.anyio

ORIGIN = "http://pages.test"
POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:"
STYLE = "body { margin: 8px; font: 16px sans-serif } .scroll { overflow-x: auto }"
SOUND = """<h1>Parcels</h1><p>Where they are, and why.</p>
<div class="scroll" tabindex="0" role="region" aria-label="Table"><table><caption>Depots</caption>
<tr><th scope="col">Depot</th></tr><tr><td><code>{long}</code></td></tr></table></div>"""


def page(body: str, style: str = "") -> str:
    return (
        '<!doctype html><html lang="en"><head><title>Parcels</title><link rel="icon" href="data:,">'
        '<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="/style.css">'
        f"{style}</head><body><main>{body}</main></body></html>"
    )


async def show(tab: Any, body: str, style: str = STYLE) -> None:
    """Serve a page from nowhere, with the policy of the console, and open it."""

    async def answer(route: Any) -> None:
        if route.request.url.endswith(".css"):
            await route.fulfill(body=style, content_type="text/css")
        else:
            headers = {"content-security-policy": POLICY}
            await route.fulfill(body=page(body), content_type="text/html", headers=headers)

    await tab.page.route(f"{ORIGIN}/**", answer)
    await tab.open("/")


async def test_a_sound_page_has_no_fault(browse: Any) -> None:
    async with browse(ORIGIN) as tab:
        await show(tab, SOUND.format(long="depot-" * 60))
        await tab.check("sound")


async def test_what_can_not_be_read_is_found(browse: Any) -> None:
    async with browse(ORIGIN) as tab:
        await tab.resize(390)
        for body, style, found in (
            ("<p class='x'>words and words</p>", ".x { width: 900px }", "The page is 908 px wide"),
            ("<p>one<br>two</p>", "p { height: 20px; overflow: hidden }", "is cut by"),
            ("<p>a line of text</p>", "p { width: 50px; overflow: hidden; white-space: nowrap }", "is cut by"),
            ("<p>below</p>", "p { margin-top: -40px }", "lie upon each other"),
            ("<button>Much to say</button>", "button { width: 40px; white-space: nowrap }", "too narrow"),
        ):
            await show(tab, f"<h1>A</h1>{body}", STYLE + style)
            problems = await tab.unfit()
            assert any(found in each for each in problems), (body, problems)


async def test_faults_of_accessibility_are_found_in_each_theme(browse: Any) -> None:
    style = "@media (prefers-color-scheme: dark) { body { background: #111; color: #333 } }"
    async with browse(ORIGIN) as tab:
        await show(tab, "<h1>A</h1><p>Words.</p><img src='data:,'>", style)
        assert [each.split(" ")[0] for each in await tab.inaccessible()] == ["image-alt"]
        await tab.theme("dark")
        assert any(each.startswith("color-contrast") for each in await tab.inaccessible())


async def test_what_a_page_must_not_do_is_noticed(browse: Any) -> None:
    with pytest.raises(AssertionError) as caught:
        async with browse(ORIGIN) as tab:
            await show(
                tab,
                "<script>document.title = 'changed'</script><p style='color: red'>A</p>"
                "<img alt='' src='http://elsewhere.test/pixel.png'><iframe src='http://frames.test/'></iframe>",
            )
    for found in (
        "policy: script-src-elem forbids inline",
        "policy: style-src-attr forbids inline",
        "policy: img-src forbids http://elsewhere.test",
        "frames.test",
    ):
        assert found in str(caught.value)
