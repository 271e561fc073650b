"""More services: made-up posts, weather, summaries of pages, a code host's figures; and whose host is whose."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

from corpora.sites import NOT_FOUND, Request, Response, echo, paginated
from noetl_ir.expr import Json

Site: TypeAlias = Callable[[Request], Response]

_COUNTS = {"posts": 100, "comments": 500, "albums": 100, "photos": 5000, "todos": 200, "users": 10}
_PARENTS = {"posts": ("userId", 10), "comments": ("postId", 5), "albums": ("userId", 10), "todos": ("userId", 20)}


def placeholder(request: Request) -> Response:
    """Made-up posts, users, comments, albums and to-dos: as many as published, each made of its number."""
    what, _, rest = request.path.strip("/").partition("/")
    if what not in _COUNTS:
        return Response(404, {})
    number, _, inner = rest.partition("/")
    sent = request.sent()
    body = sent if isinstance(sent, dict) else {}
    if request.method == "POST":
        return Response(201, {**body, "id": _COUNTS[what] + 1})
    if not number:
        things = [_made(what, n) for n in range(1, _COUNTS[what] + 1)]
        kept = [thing for thing in things if _fits(thing, request.query)]
        limit = request.number("_limit", len(kept))
        return Response(200, list(kept[:limit]))
    if not number.isdigit() or not 1 <= int(number) <= _COUNTS[what]:
        return Response(404, {})
    if request.method == "DELETE":
        return Response(200, {})
    if inner in _COUNTS:
        key = {"posts": "postId", "users": "userId", "albums": "albumId"}[what]
        things = [_made(inner, n) for n in range(1, _COUNTS[inner] + 1)]
        return Response(200, [thing for thing in things if _fits(thing, {key: number})])
    return Response(200, {**_made(what, int(number)), **(body if request.method in ("PUT", "PATCH") else {})})


def _fits(thing: Mapping[str, Json], query: Mapping[str, str]) -> bool:
    return all(str(thing.get(key)) == text for key, text in query.items() if not key.startswith("_"))


def _made(what: str, number: int) -> dict[str, Json]:
    made: dict[str, Json] = {"id": number}
    if what in _PARENTS:
        key, each = _PARENTS[what]
        made[key] = (number - 1) // each + 1
    match what:
        case "posts":
            made |= {"title": f"title of post {number}", "body": f"body of post {number}"}
        case "comments":
            made |= {"name": f"comment {number}", "email": f"c{number}@example.com", "body": f"body {number}"}
        case "todos":
            made |= {"title": f"to do {number}", "completed": number % 2 == 0}
        case "users":
            made |= _person(number)
        case _:
            made |= {"title": f"{what} {number}"}
    return made


def _person(number: int) -> dict[str, Json]:
    geo: Json = {"lat": f"{-37 + number}.3159", "lng": f"{81 - number}.1496"}
    return {
        "name": f"Person {number}", "username": f"person{number}", "email": f"person{number}@example.com",
        "address": {
            "street": f"{number} Street", "suite": f"Apt. {number}", "city": f"City {number}", "zipcode": "92998",
            "geo": geo,
        },
        "phone": f"1-770-736-80{number:02d}", "website": f"person{number}.example.com",
        "company": {"name": f"Company {number}", "catchPhrase": "made up", "bs": "made up"},
    }  # fmt: skip


_HOURS = 168


def weather(request: Request) -> Response:
    """A forecast for a place: the hours of seven days, and what else is asked for by name."""
    if request.path != "/v1/forecast":
        return Response(404, {"error": True, "reason": "Not Found"})
    try:
        latitude, longitude = float(request.query["latitude"]), float(request.query["longitude"])
    except (KeyError, ValueError):
        return Response(400, {"error": True, "reason": "Parameter 'latitude' and 'longitude' must be numbers"})
    told: dict[str, Json] = {
        "latitude": latitude, "longitude": longitude, "generationtime_ms": 0.1, "utc_offset_seconds": 0,
        "timezone": "GMT", "timezone_abbreviation": "GMT", "elevation": 38.0,
    }  # fmt: skip
    warm = round(30.0 - abs(latitude) / 3, 1)
    for part, count in (("hourly", _HOURS), ("daily", 7)):
        if names := [name for name in request.query.get(part, "").split(",") if name]:
            times: list[Json] = [f"2026-01-{n // 24 + 1:02d}T{n % 24:02d}:00" for n in range(count)]
            told[f"{part}_units"] = {"time": "iso8601", **dict.fromkeys(names, "°C")}
            told[part] = {
                "time": times,
                **{name: [round(warm + n % 24 / 4, 1) for n in range(count)] for name in names},
            }
    if names := [name for name in request.query.get("current", "").split(",") if name]:
        told["current"] = {"time": "2026-01-01T12:00", "interval": 900, **dict.fromkeys(names, warm)}
    if request.query.get("current_weather") == "true":
        told["current_weather"] = {
            "time": "2026-01-01T12:00", "interval": 900, "temperature": warm, "windspeed": 11.2,
            "winddirection": 270, "is_day": 1, "weathercode": 3,
        }  # fmt: skip
    return Response(200, told)


def summaries(request: Request) -> Response:
    """An encyclopedia's summary of a page."""
    front, _, title = request.path.rpartition("/")
    if front != "/api/rest_v1/page/summary" or not title:
        return NOT_FOUND
    extract = f"{title} is what this summary is about, in two sentences. This is the second one."
    return Response(200, {
        "type": "standard", "title": title, "pageid": 23968131, "lang": "en", "description": f"about {title}",
        "extract": extract, "content_urls": {"desktop": {"page": f"https://en.wikipedia.org/wiki/{title}"}},
    })  # fmt: skip


def code_host(request: Request) -> Response:
    """A code host's figures of a repository."""
    first, _, rest = request.path.strip("/").partition("/")
    owner, _, name = rest.partition("/")
    if first != "repos" or not name or "/" in name:
        return NOT_FOUND
    return Response(200, {
        "id": 1, "name": name, "full_name": f"{owner}/{name}", "private": False, "owner": {"login": owner},
        "stargazers_count": 12, "forks_count": 3, "open_issues_count": 4, "watchers_count": 12, "size": 1000,
        "language": "Python", "created_at": "2024-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z",
    })  # fmt: skip


SITES: Mapping[str, Site] = MappingProxyType({
    "jsonplaceholder.typicode.com": placeholder,
    "httpbin.org": echo,
    "postman-echo.com": echo,
    "api.open-meteo.com": weather,
    "en.wikipedia.org": summaries,
    "api.github.com": code_host,
})  # fmt: skip
"""Host, with its port where that is no usual one → what answers for it."""

NAMED: Mapping[str, Site] = MappingProxyType({"pages": paginated, "echo": echo, "placeholder": placeholder})
"""The services that a file of known outcomes may give further hosts to."""
