#!/usr/bin/env bash
# The tests and the demo once more, on Node 24, in a copy of this checkout: native modules belong to one Node, so the
# two never share a node_modules folder. Node itself comes from npm, as a package with nothing but the binary and its
# headers. Keeps nothing and leaves nothing running.
set -euo pipefail
cd "$(dirname "$0")/.."

version=24.22.3
abi=137 # process.versions.modules of every Node 24.

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

platform=$(node -p '`node-${process.platform}-${process.arch}`')
npm install --no-save --no-package-lock --no-audit --no-fund --prefix "$work/node" "$platform@$version"
node24="$work/node/node_modules/$platform"

# What git knows and what is new in the work tree, as it lies here: nothing that was built or installed.
mkdir "$work/copy"
git ls-files -z --cached --others --exclude-standard | tar --null -T - -cf - | tar -xf - -C "$work/copy"
cd "$work/copy"

export PATH="$node24/bin:$PATH"
# Without this native modules may be built with the headers of the Node that npm came with, and so for its ABI.
export npm_config_nodedir="$node24"
export EXPECT_NODE_ABI=$abi

npm ci

# Inside a script that npm started, as the tests are.
seen=$(npm exec --no -- node -p 'new (require("better-sqlite3"))(":memory:").close(); process.versions.modules')
if [ "$seen" != "$abi" ]; then
  echo "node24: the scripts run on a Node with ABI $seen, not $abi" >&2
  exit 1
fi
echo "node24: Node $(node -p process.versions.node), ABI $seen"

npm test
npm run demo -- --transport http
npm run demo -- --transport stdio
echo 'node24: ok'
