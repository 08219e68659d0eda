"""The checks themselves: a page with faults on purpose must be complained about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def test_every_check_complains_about_a_page_that_is_wrong_on_purpose(
    open_page: Callable[..., Any], axe: Callable[[Any], list[str]]
) -> None:
    page = open_page("/help", strict=False)
    with page.expect_event("console"):
        page.evaluate(
            """() => {
                document.querySelector('main').insertAdjacentHTML('beforeend', '<input>');
                const image = new Image(); image.src = 'http://elsewhere.invalid/x.png';
                document.body.append(image);
            }"""
        )
    assert any(line.startswith("label") for line in axe(page))
    assert any("img-src" in line for line in page.watch.console)
    with page.expect_event("requestfailed"):
        page.evaluate("() => { location.href = 'http://elsewhere.invalid/' }")
    assert page.watch.foreign == ["http://elsewhere.invalid/"]
    page.context.close()
