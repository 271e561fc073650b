"""A developer's script, never shipped: builds the extension for VS Code, with Node and npm, and tests its logic.

Run it as `tools/vsix`. A `.vsix` is a ZIP file with a manifest beside the extension (Open Packaging Conventions). What
npm brings lies in `.venv/vsix`, and is brought again when the lock file changes.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from node_packages import bring, has_tools

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "editors" / "vscode"
BUILD = ROOT / ".venv" / "vsix"
DAY = (2026, 1, 1, 0, 0, 0)
"""The time of every file in the package: the same sources give the same bytes."""

_TYPES = """<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
<Default Extension=".json" ContentType="application/json"/>
<Default Extension=".js" ContentType="application/javascript"/>
<Default Extension=".md" ContentType="text/markdown"/>
<Default Extension=".txt" ContentType="text/plain"/>
<Default Extension=".vsixmanifest" ContentType="text/xml"/>
</Types>
"""


def build(to: Path) -> Path:
    """Build the extension into a folder; returns the package. Raises CalledProcessError where a tool fails."""
    bring(SOURCE, BUILD)
    shutil.copytree(SOURCE, BUILD, dirs_exist_ok=True, ignore=shutil.ignore_patterns("node_modules", "dist"))
    subprocess.run(["npm", "test", "--silent"], cwd=BUILD, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["npm", "run", "build", "--silent"], cwd=BUILD, check=True)
    about = json.loads((SOURCE / "package.json").read_text("utf-8"))
    to.mkdir(parents=True, exist_ok=True)
    package = to / f"{about['name']}-{about['version']}.vsix"
    with ZipFile(package, "w", ZIP_DEFLATED) as archive:
        for name, data in sorted(_parts(about)):
            archive.writestr(ZipInfo(name, DAY), data, ZIP_DEFLATED)
    return package


def _parts(about: dict[str, object]) -> Iterator[tuple[str, bytes]]:
    """The files of the package."""
    yield "[Content_Types].xml", _TYPES.encode()
    yield "extension.vsixmanifest", _manifest(about).encode()
    yield "extension/LICENSE.txt", (ROOT / "LICENSE").read_bytes()
    for name in ("package.json", "README.md", "syntaxes/playbook.tmLanguage.json"):
        yield f"extension/{name}", (SOURCE / name).read_bytes()
    yield "extension/dist/extension.js", (BUILD / "dist" / "extension.js").read_bytes()


def _manifest(about: dict[str, object]) -> str:
    engine = str(about["engines"]["vscode"])  # type: ignore[index]
    categories = ",".join(str(one) for one in about["categories"])  # type: ignore[attr-defined]
    identity = f"Id={quoteattr(str(about['name']))} Version={quoteattr(str(about['version']))}"
    return f"""<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
<Metadata>
<Identity Language="en-US" {identity} Publisher={quoteattr(str(about["publisher"]))}/>
<DisplayName>{escape(str(about["displayName"]))}</DisplayName>
<Description xml:space="preserve">{escape(str(about["description"]))}</Description>
<Categories>{escape(categories)}</Categories>
<GalleryFlags>Public</GalleryFlags>
<Properties>
<Property Id="Microsoft.VisualStudio.Code.Engine" Value={quoteattr(engine)}/>
<Property Id="Microsoft.VisualStudio.Code.ExtensionKind" Value="workspace"/>
</Properties>
<License>extension/LICENSE.txt</License>
</Metadata>
<Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation>
<Dependencies/>
<Assets>
<Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/>
<Asset Type="Microsoft.VisualStudio.Services.Content.Details" Path="extension/README.md" Addressable="true"/>
<Asset Type="Microsoft.VisualStudio.Services.Content.License" Path="extension/LICENSE.txt" Addressable="true"/>
</Assets>
</PackageManifest>
"""


if __name__ == "__main__":
    if not has_tools():
        sys.exit("tools/vsix: Node and npm are needed, and not there")
    print(build(ROOT / "dist").relative_to(ROOT))
