"""The troubleshooting page, to which each answer links: its sections are the reasons.

An installation that serves the documents itself names the URL of the page. Else it is the page of the published site,
and while there is none the path of the page in the repository.
"""

DOCUMENTATION = ""  # the URL of the published site, as in `project.urls` of pyproject.toml; empty: there is none
TROUBLESHOOTING = "docs/troubleshooting.md"
_ON_THE_SITE = "docs/troubleshooting.html"


def troubleshooting_page(given: str = "", *, published: str = DOCUMENTATION) -> str:
    """The URL of the page, or its path where no URL is known."""
    if given or not published:
        return given or TROUBLESHOOTING
    return f"{published.rstrip('/')}/{_ON_THE_SITE}"
