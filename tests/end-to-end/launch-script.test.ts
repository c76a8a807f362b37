import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Socket } from "node:net";
import { hostname, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const project = fileURLToPath(new URL("../..", import.meta.url));

/**
 * A clone in small: the real `bin/kite` and `bin/build.mjs`, programs of one line, and stand-ins for npm and the
 * bundler that note that they were called. Its path has a space in it.
 */
let folder: string;
let clone: string;
const running = new Set<ChildProcess>();

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "kite clone-"));
  clone = join(folder, "my kite");
  for (const name of [
    "protocol",
    "daemon",
    "client",
    "hooks/client",
    "hooks/opencode/plugin",
    "bin/frequent",
    "bin/man",
    "bin/web/page",
    "bin/web/snapshot",
  ]) {
    mkdirSync(join(clone, name), { recursive: true });
  }
  for (const name of ["bin/kite", "bin/build.mjs", "bin/bundle.mjs"])
    copyFileSync(join(project, name), join(clone, name));
  write("package.json", "{}");
  write("package-lock.json", "{}");
  write("bin/kite.ts", 'console.log("kite", JSON.stringify(process.argv.slice(2)));');
  write("bin/any-command.ts", "");
  write("bin/daemon.ts", "");
  write("bin/frequent/commands.ts", "");
  write("hooks/client/hook.ts", "");
  write("hooks/opencode/plugin/plugin.ts", "");
  for (const name of ["door.html", "door.ts", "main.tsx", "page.css"]) write(`bin/web/page/${name}`, "");
  write("bin/web/render.tsx", "");
  write("hooks/client/hook.pl", "use strict;\nour %limits;\nprint $limits{one};");
  write("protocol/limits.ts", "export const limits = { one: 1 };");
  const bundler = `import * as esbuild from ${JSON.stringify(import.meta.resolve("esbuild"))};
    import { appendFileSync } from "node:fs";
    import { connect } from "node:net";
    export async function build(options) {
      appendFileSync(${JSON.stringify(join(folder, "bundled"))}, "x");
      if (process.env.FAKE_GATE) {
        await new Promise(resolve => connect(process.env.FAKE_GATE).once("close", resolve).resume());
      }
      return esbuild.build(options);
    }`;
  // What \`npm ci\` brings.
  writeFileSync(
    join(folder, "npm"),
    `#!/bin/sh
echo "$@" >> "${folder}/installed"
[ -z "$FAKE_NPM_FAILS" ] || exit 9
mkdir -p node_modules/esbuild
cat > node_modules/esbuild/package.json <<'EOF'
{"type":"module","exports":"./index.js"}
EOF
cat > node_modules/esbuild/index.js <<'EOF'
${bundler}
EOF
mkdir -p node_modules/commander
echo 'module.exports = {};' > node_modules/commander/index.js
echo {} > node_modules/.package-lock.json
`,
    { mode: 0o755 },
  );
});

afterEach(() => {
  for (const child of running) child.kill("SIGKILL");
  chmodTree(0o755);
  // A killed process may still add a file with its last call.
  rmSync(folder, { recursive: true, force: true, maxRetries: 9 });
});

function write(name: string, text: string): void {
  writeFileSync(join(clone, name), text);
}

function chmodTree(mode: number): void {
  const dist = join(clone, "dist");
  if (existsSync(dist)) chmodSync(dist, mode);
}

/** How often the stand-ins were called. */
function calls(what: "installed" | "bundled"): number {
  const path = join(folder, what);
  if (!existsSync(path)) return 0;
  const text = readFileSync(path, "utf8");
  return what === "installed" ? text.trimEnd().split("\n").length : text.length / 9;
}

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

interface How {
  readonly program?: string;
  readonly cwd?: string;
  readonly env?: Record<string, string>;
}

function begin(args: readonly string[], how: How = {}): ChildProcess {
  const PATH = `${folder}:${dirname(process.execPath)}:/usr/bin:/bin`;
  const child = spawn(how.program ?? join(clone, "bin/kite"), args, {
    cwd: how.cwd ?? folder,
    env: { PATH, HOME: folder, ...how.env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  running.add(child);
  child.once("exit", () => running.delete(child));
  return child;
}

async function ended(child: ChildProcess): Promise<Ended> {
  const texts = { out: "", err: "" };
  child.stdout?.on("data", chunk => {
    texts.out += chunk;
  });
  child.stderr?.on("data", chunk => {
    texts.err += chunk;
  });
  await once(child, "close");
  return { code: child.exitCode, ...texts };
}

function run(args: readonly string[] = [], how: How = {}): Promise<Ended> {
  return ended(begin(args, how));
}

/** Makes a file newer than the last build. */
function touch(name: string, aheadMs = 10): void {
  const built = statSync(join(clone, "dist/.built")).mtimeMs;
  const time = new Date(Math.ceil(built) + aheadMs);
  utimesSync(join(clone, name), time, time);
}

describe("the first start in a clone", () => {
  it("installs and builds, says so on standard error, and runs", async () => {
    const { code, out, err } = await run(["up", "a b", "", "$HOME"]);
    expect([code, out]).toEqual([0, 'kite ["up","a b","","$HOME"]\n']);
    expect(err).toMatch(/^kite: installing its packages \(once\)\.\.\.\nkite: built in [\d.]+ s\n$/);
    expect(readFileSync(join(folder, "installed"), "utf8")).toContain("ci --include=dev --ignore-scripts");
  });

  it("leaves one file each for the daemon, the hook and what needs no bundling", async () => {
    await run();
    const names = readdirSync(join(clone, "dist")).sort();
    expect(names).toEqual([
      ".built",
      "any-command.mjs",
      "commander.cjs",
      "daemon.mjs",
      "frequent-commands.cjs",
      "hook.cjs",
      "hook.pl",
      "kite.cjs",
      "opencode-plugin.mjs",
      "web-door.html",
      "web-door.js",
      "web-page.css",
      "web-page.js",
      "web-snapshot.js",
    ]);
  });

  it("does it once: the second start is silent and builds nothing", async () => {
    await run();
    expect(await run()).toEqual({ code: 0, out: "kite []\n", err: "" });
    expect([calls("installed"), calls("bundled")]).toEqual([1, 1]);
  });

  it("fails with npm's own words, builds nothing, and the next one tries again", async () => {
    const failed = await run([], { env: { FAKE_NPM_FAILS: "1" } });
    expect([failed.code, failed.out]).toEqual([1, ""]);
    expect(failed.err).toContain("npm ci failed (9)");
    expect((await run()).code).toBe(0);
  });

  it("fails where a program is missing, and says which", async () => {
    rmSync(join(clone, "hooks/client/hook.ts"));
    const { code, err } = await run();
    expect(code).toBe(1);
    expect(err).toContain("hooks/client/hook.ts");
    expect(existsSync(join(clone, "dist/.built"))).toBe(false);
  });
});

describe("a start after a change", () => {
  beforeEach(async () => {
    await run();
  });

  for (const name of ["protocol/a.ts", "daemon/core", "bin/kite.ts", "hooks/client/hook.ts"]) {
    it(`builds again after one in ${name}`, async () => {
      if (name === "bin/kite.ts") write(name, 'console.log("new");');
      else if (name.endsWith(".ts")) write(name, "");
      else mkdirSync(join(clone, name));
      touch(name);
      expect((await run()).err).toContain("built in");
      expect(await run()).toMatchObject({ err: "" });
      expect(calls("bundled")).toBe(2);
    });
  }

  it("builds again after a file was removed", async () => {
    rmSync(join(clone, "hooks/client/hook.pl"));
    touch("hooks/client");
    expect((await run()).err).toContain("built in");
  });

  it("installs again when the lock file changed", async () => {
    touch("package-lock.json", 3_600_000);
    await run();
    expect(calls("installed")).toBe(2);
    expect(await run()).toMatchObject({ err: "" });
  });

  it("builds once, not for ever, after one from the future", async () => {
    touch("protocol", 86_400_000);
    expect((await run()).err).toContain("built in");
    expect(await run()).toMatchObject({ err: "" });
  });

  it("leaves what a running kite may still load, until it has been of no use for a day", async () => {
    const chunks = () => readdirSync(join(clone, "dist")).filter(name => name.startsWith("later-"));
    const change = async (text: string) => {
      write("bin/later.ts", `export const text = ${JSON.stringify(text)};`);
      touch("bin/later.ts");
      await run();
      return chunks();
    };
    write("bin/any-command.ts", 'console.log((await import("./later.ts")).text);');
    const [first] = await change("one");
    expect(await change("two")).toContain(first);
    expect(await change("three")).toHaveLength(3);
    const old = new Date(Date.now() - 2 * 86_400_000);
    utimesSync(join(clone, "dist", first ?? ""), old, old);
    const left = await change("four");
    expect(left).toHaveLength(3);
    expect(left).not.toContain(first);
  });
});

describe("two first starts at once", () => {
  it("share one build: the second waits for the first and says so", async () => {
    const gate = createServer();
    const atGate: Socket[] = [];
    const path = join(folder, "gate");
    await new Promise<void>(resolve => gate.listen(path, resolve));
    const building = new Promise<void>(resolve => {
      gate.on("connection", socket => {
        atGate.push(socket);
        if (atGate.length === 8) resolve();
      });
    });
    const first = begin([], { env: { FAKE_GATE: path } });
    await building;
    const second = begin([]);
    let waits = "";
    await new Promise<void>(resolve => {
      second.stderr?.on("data", chunk => {
        waits += chunk;
        if (waits.includes("waiting")) resolve();
      });
    });
    expect(waits).toMatch(/^kite: another build is running \(process \d+\); waiting for it\.\.\.\n$/);
    const both = [ended(first), ended(second)];
    gate.close();
    for (const socket of atGate) socket.destroy();
    expect(await Promise.all(both)).toMatchObject([
      { code: 0, out: "kite []\n" },
      { code: 0, out: "kite []\n" },
    ]);
    expect([calls("installed"), calls("bundled")]).toEqual([1, 1]);
  });

  it("and eight, after a build that was cut short, too", async () => {
    const gone = begin(["--version"], { program: process.execPath });
    await once(gone, "exit");
    mkdirSync(join(clone, "dist/.lock", `${gone.pid}.dead@${hostname()}`), { recursive: true });
    mkdirSync(join(clone, "dist/.fresh"));
    const all = await Promise.all(Array.from({ length: 8 }, () => run()));
    expect(all.map(({ code, out }) => [code, out])).toEqual(all.map(() => [0, "kite []\n"]));
    expect(all.filter(({ err }) => err.includes("did not finish"))).toHaveLength(1);
    expect([calls("installed"), calls("bundled")]).toEqual([1, 1]);
    expect(readdirSync(join(clone, "dist")).filter(name => /^\.(lock|fresh)/.test(name))).toEqual([]);
  });
});

describe("bin/kite", () => {
  it("is found through links, relative ones and chains of them", async () => {
    symlinkSync(join(clone, "bin/kite"), join(folder, "absolute"));
    mkdirSync(join(folder, "links"));
    symlinkSync("../absolute", join(folder, "links/relative"));
    expect((await run([], { program: join(folder, "links/relative") })).out).toBe("kite []\n");
    expect((await run([], { program: "./relative", cwd: join(folder, "links") })).out).toBe("kite []\n");
  });

  it("is found in PATH, and from beside itself, whatever CDPATH says", async () => {
    await run();
    const PATH = `${join(clone, "bin")}:${dirname(process.execPath)}:/usr/bin:/bin`;
    const env = { PATH, CDPATH: `/:${clone}` };
    expect((await run([], { program: "kite", env })).out).toBe("kite []\n");
    const sh = { program: "/bin/sh", env };
    expect((await run(["kite"], { ...sh, cwd: join(clone, "bin") })).out).toBe("kite []\n");
    expect((await run(["bin/kite"], { ...sh, cwd: clone })).out).toBe("kite []\n");
  });

  it("runs what is built where nothing may be written", async () => {
    await run();
    chmodTree(0o555);
    const changed = () => statSync(join(clone, "dist")).mtimeMs;
    const before = changed();
    expect(await run()).toEqual({ code: 0, out: "kite []\n", err: "" });
    expect(changed()).toBe(before);
  });

  it("runs in a package, which has no sources", async () => {
    await run();
    for (const name of [
      "protocol",
      "daemon",
      "client",
      "hooks",
      "node_modules",
      "bin/kite.ts",
      "bin/daemon.ts",
    ]) {
      rmSync(join(clone, name), { recursive: true });
    }
    expect(await run()).toEqual({ code: 0, out: "kite []\n", err: "" });
  });

  it("runs no node that is a project's own", async () => {
    const project = join(folder, "project");
    for (const place of [project, join(project, "node_modules", ".bin")]) {
      mkdirSync(place, { recursive: true });
      writeFileSync(join(place, "node"), "#!/bin/sh\necho the project\n", { mode: 0o755 });
    }
    const own = `${folder}:${dirname(process.execPath)}:/usr/bin:/bin`;
    for (const entry of [".", "", "./node_modules/.bin", join(project, "node_modules", ".bin")]) {
      const { out } = await run([], { cwd: project, env: { PATH: `${entry}:${own}` } });
      expect(out, entry).toBe("kite []\n");
    }
  });

  it("says what is missing where there is no node", async () => {
    mkdirSync(join(folder, "empty"));
    const { code, err } = await run([], { env: { PATH: join(folder, "empty") } });
    expect(code).toBe(127);
    expect(err).toMatch(/^kite: needs Node 20\.19 or newer, but finds no node in PATH;.*\n$/);
  });
});

it("an old Node is told so by the program itself, before anything else is loaded", async () => {
  // The version is all that can be had of an old Node here.
  const program = readFileSync(join(project, "dist/kite.cjs"), "utf8");
  const old = 'Object.defineProperty(process.versions, "node", { value: "18.20.4" });\n';
  writeFileSync(join(folder, "kite.cjs"), old + program);
  const { code, out, err } = await run([join(folder, "kite.cjs")], { program: process.execPath });
  expect([code, out]).toEqual([1, ""]);
  expect(err).toBe("kite: needs Node 20.19 or newer, but this is 18.20.4; install a newer Node\n");
});
