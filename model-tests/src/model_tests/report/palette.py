"""Colours of a chart, named once: matplotlib draws with stand-ins, the page's style sheet decides (light or dark)."""

# stand-in -> (custom property of the page, colour where no style sheet is read)
COLOURS = {
    "#010101": ("--ink", "#1d2125"),
    "#020202": ("--muted", "#5c646c"),
    "#030303": ("--rule", "#dcd8d0"),
    "#040404": ("--model", "#1f5fae"),
    "#050505": ("--floor", "#6d747b"),
    "#060606": ("--allowed", "#dfe9f5"),
    "#070707": ("--fail", "#b3261e"),
    "#080808": ("--stripe", "#f3f1ec"),
}
INK, MUTED, RULE, MODEL, FLOOR, ALLOWED, FAIL, STRIPE = COLOURS


def themed(style: str) -> str:
    """Return a style with every stand-in replaced by its custom property."""
    for stand_in, (name, colour) in COLOURS.items():
        style = style.replace(stand_in, f"var({name}, {colour})")
    return style
