/** The package that `npm run package` makes: small, complete, and usable in an empty home without a build or a download. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";

const project = fileURLToPath(new URL("../..", import.meta.url));
const packageBytesMax = 1_500_000;
const home = mkdtempSync(join(tmpdir(), "kite-package-"));
const prefix = join(home, "installed");
const env = { HOME: home, PATH: `${dirname(process.execPath)}:/usr/bin:/bin`, TMPDIR: home };

function run(command: string, args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: home, env, encoding: "utf8" });
  return { status, stdout, stderr };
}

const kite = (...args: readonly string[]) => run(join(prefix, "bin/kite"), args);

beforeAll(() => {
  expect(run(process.execPath, [join(project, "bin/pack.mjs"), home])).toMatchObject({ status: 0 });
  const [tarball = ""] = readdirSync(home).filter(name => name.endsWith(".tgz"));
  expect(statSync(join(home, tarball)).size).toBeLessThan(packageBytesMax);
  // Offline: a package that needs another one would fail.
  const installed = run("npm", ["install", "--global", "--offline", "--prefix", prefix, join(home, tarball)]);
  expect(installed, installed.stderr).toMatchObject({ status: 0 });
}, 120_000);

afterAll(() => {
  kite("down");
  rmSync(home, { recursive: true, force: true, maxRetries: 5 });
});

const installed = () => join(prefix, "lib/node_modules/kited");

it("is not what npm pack would make of a clone", () => {
  const { status, stderr } = spawnSync("npm", ["pack", "--dry-run"], { cwd: project, env, encoding: "utf8" });
  expect(status).toBe(1);
  expect(stderr).toContain("use npm run package");
});

it("holds the bundles and no package, no source and no build", () => {
  expect(readdirSync(installed()).sort()).toEqual([
    "CHANGELOG.md",
    "LICENSE",
    "README.md",
    "bin",
    "dist",
    "kite.1",
    "package.json",
  ]);
  expect(readdirSync(join(installed(), "bin"))).toEqual(["kite"]);
  expect(Object.keys(JSON.parse(readFileSync(join(installed(), "package.json"), "utf8")))).not.toContain(
    "dependencies",
  );
});

it("has a manual page that man can show", () => {
  const page = readFileSync(join(prefix, "share/man/man1/kite.1"), "utf8");
  for (const name of ["kite task claim", "kite status", "kite lock"]) expect(page).toContain(`.SS ${name}\n`);
  expect(page).not.toContain(".SS kite complete\n");
  expect(page).toContain("\\-\\-every\\-event");
  // A line that begins with a dot or a quote would be a request.
  for (const line of page.split("\n")) expect(line).toMatch(/^(?:[^.']|\.(?:TH|SH|SS|TP|B|BR|I|nf|fi)\b|$)/);
});

it("names the licence of every package in its bundles", () => {
  const said = readFileSync(join(installed(), "dist/licences.txt"), "utf8");
  for (const name of ["commander", "pino", "zod", "unbash", "yaml", "preact", "@modelcontextprotocol/server"])
    expect(said).toMatch(new RegExp(`^${name}\n\n\\S`, "m"));
});

it("runs the daemon, commands of one file, commands of several, and the hook clients", () => {
  expect(kite("up")).toMatchObject({ status: 0, stderr: "" });
  expect(kite("status").stdout).toContain("No sessions.");
  expect(kite("lock", "a.txt", "--", "echo", "held")).toMatchObject({ status: 0, stdout: "held\n" });
  expect(kite("task", "add", "write it").status).toBe(0);
  expect(kite("task", "list").stdout).toContain("write it");
  expect(kite("log").stdout).toContain("a.txt");
  // What shows it is built with the page, for browsers.
  expect(kite("web", "--snapshot", "page.html")).toMatchObject({ status: 0, stderr: "" });
  expect(readFileSync(join(home, "page.html"), "utf8")).toContain("write it");
  expect(kite("install").status).toBe(0);
  for (const name of ["hook.cjs", "hook.pl"]) expect(existsSync(join(home, ".kite/bin", name))).toBe(true);
  expect(kite("uninstall", "--all").status).toBe(0);
  expect(kite("down")).toMatchObject({ status: 0 });
});
