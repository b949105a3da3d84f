"""packages_tools.py PACKAGE TO: PlatformIO packs PACKAGE into TO, ESP-IDF's component manager reads its manifest, and Kconfig its options."""
import pathlib
import sys

import kconfiglib
from idf_component_tools.manager import ManifestManager
from platformio.package.manifest.schema import ManifestSchema
from platformio.package.pack import PackagePacker

package, to = sys.argv[1:]
# The list of licences would be downloaded.
ManifestSchema.load_spdx_licenses = staticmethod(lambda: {"licenses": [{"licenseId": "Apache-2.0"}]})
packed = pathlib.Path(PackagePacker(package).pack(to))
if packed.stat().st_size < 100000:
    sys.exit(f"{packed} has {packed.stat().st_size} bytes")
errors = ManifestManager(package, "ox").validate().validation_errors
for name in ("Kconfig", "zephyr/Kconfig"):
    options = kconfiglib.Kconfig(f"{package}/{name}")
    errors += options.warnings
    if options.syms["OX_SELECTION"].type != kconfiglib.STRING:
        errors.append(f"{name}: OX_SELECTION is no string")
print("\n".join(map(str, errors)))
sys.exit(bool(errors))
