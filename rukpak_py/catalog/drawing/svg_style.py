"""Colours and fonts of a picture, for light and dark screens.

Texts have a contrast of 4.5 at least against what they stand on, lines one of 3.
"""

from typing import Final

_FIXED = """\
text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","DejaVu Sans",sans-serif}
.label,.range-text,.package-title,.lane-title{\
font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
.label,.range-text{font-size:12px}
.package-title{font-size:18px;font-weight:600}
.lane-title{font-size:14px;font-weight:600}
.badge{font-size:10px;font-weight:600}
.legend{font-size:12px}
.edge{fill:none;stroke-width:1.6}
.skip{stroke-dasharray:5 3}
.dots{fill:none;stroke-width:7;stroke-linecap:round}
.node rect{stroke-width:1.2}
.skipped rect{stroke-width:2}
.dangling rect{stroke-dasharray:3 3}"""

# selector -> its declarations on a light and on a dark screen
COLOURS: Final = {
    ".page": ("fill:#ffffff", "fill:#0d1117"),
    ".lane": ("fill:#f6f8fa;stroke:#d0d7de", "fill:#161b22;stroke:#3d444d"),
    "text": ("fill:#1f2328", "fill:#e6edf3"),
    ".muted": ("fill:#59636e", "fill:#9198a1"),
    ".node rect": ("fill:#ffffff;stroke:#6e7781", "fill:#0d1117;stroke:#9198a1"),
    ".deprecated rect": ("fill:#fff1d6;stroke:#9a6700", "fill:#3b2a05;stroke:#d29922"),
    ".head rect": ("fill:#0757ba;stroke:#0757ba", "fill:#1f6feb;stroke:#58a6ff"),
    ".head.deprecated rect": ("fill:#8a4600;stroke:#8a4600", "fill:#9e6a03;stroke:#d29922"),
    ".skipped rect": ("stroke:#cf222e", "stroke:#f85149"),
    ".dangling rect": ("fill:none", "fill:none"),
    ".dangling .label": ("fill:#59636e", "fill:#9198a1"),
    ".head text": ("fill:#ffffff", "fill:#ffffff"),
    ".badge.deprecated": ("fill:#7d4e00", "fill:#e3b341"),
    ".head .badge.deprecated": ("fill:#ffffff", "fill:#ffffff"),
    ".badge.skipped": ("fill:#b3131f", "fill:#ff7b72"),
    ".badge.default": ("fill:#0757ba", "fill:#58a6ff"),
    ".replace": ("stroke:#424a53", "stroke:#c3cbd4"),
    ".skip": ("stroke:#8250df", "stroke:#bc8cff"),
    ".skipRange": ("stroke:#0b7a6b", "stroke:#3fb9a5"),
    ".range-text": ("fill:#08665a", "fill:#56d4bf"),
    ".range-text.muted": ("fill:#59636e", "fill:#9198a1"),
    ".dead": ("stroke:#7d8590", "stroke:#6e7681"),
    ".arrow.replace": ("fill:#424a53;stroke:none", "fill:#c3cbd4;stroke:none"),
    ".arrow.skip": ("fill:#8250df;stroke:none", "fill:#bc8cff;stroke:none"),
    ".arrow.skipRange": ("fill:#0b7a6b;stroke:none", "fill:#3fb9a5;stroke:none"),
    ".arrow.dead": ("fill:#7d8590;stroke:none", "fill:#6e7681;stroke:none"),
}


def _rules(column: int) -> str:
    return "\n".join(f"{selector}{{{both[column]}}}" for selector, both in COLOURS.items())


STYLE: Final = f"{_FIXED}\n{_rules(0)}\n@media (prefers-color-scheme:dark){{\n{_rules(1)}\n}}"
