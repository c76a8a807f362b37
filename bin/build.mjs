// Installs and bundles what is missing or out of date, and says what it does.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(root, "dist");

/** When the newest of these files and folders changed. */
function newest(names) {
  let latest = 0;
  for (const name of names) {
    const path = join(root, name);
    if (!existsSync(path)) continue;
    const stat = statSync(path);
    latest = Math.max(latest, stat.mtimeMs);
    if (stat.isDirectory()) latest = Math.max(latest, newest(readdirSync(path).map(n => join(name, n))));
  }
  return latest;
}

function at(name) {
  const path = join(root, name);
  return existsSync(path) ? statSync(path).mtimeMs : 0;
}

if (at("node_modules/.package-lock.json") < at("package-lock.json")) {
  process.stderr.write("kite: installing its packages (once)...\n");
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  execFileSync(npm, ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: root,
    stdio: ["ignore", 2, 2],
  });
  const now = new Date();
  (await import("node:fs")).utimesSync(join(root, "node_modules/.package-lock.json"), now, now);
}

const sources = ["protocol", "daemon", "client", "hooks", "bin", "package.json", "package-lock.json"];
if (at("dist/.built") <= newest(sources)) {
  const started = Date.now();
  const { build } = await import("esbuild");
  const fresh = join(root, `dist.${process.pid}`);
  mkdirSync(fresh, { recursive: true });
  const common = {
    bundle: true,
    platform: "node",
    target: "node20",
    logLevel: "warning",
    legalComments: "none",
  };
  const require = 'import{createRequire as __cr}from"node:module";const require=__cr(import.meta.url);';
  try {
    await build({
      ...common,
      format: "esm",
      splitting: true,
      entryPoints: [join(root, "bin/kite.ts"), join(root, "bin/daemon.ts")],
      outdir: fresh,
      outExtension: { ".js": ".mjs" },
      banner: { js: require },
    });
    await build({
      ...common,
      format: "cjs",
      minify: true,
      entryPoints: [join(root, "hooks/client/hook.ts")],
      outfile: join(fresh, "hook.cjs"),
    });
    writeFileSync(join(fresh, ".built"), "");
    rmSync(dist, { recursive: true, force: true });
    renameSync(fresh, dist);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
  process.stderr.write(`kite: built in ${((Date.now() - started) / 1000).toFixed(1)} s\n`);
}
