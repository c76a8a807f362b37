/** kite notify with a program of the user's own settings, and without any notifier. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { NoticeWatch, notifierOf } from "../../bin/watch/notify.ts";
import { session } from "../unit/view-rows.ts";
import { Home } from "./daemon.ts";

const program = fileURLToPath(new URL("../../dist/kite.cjs", import.meta.url));

let home: Home;

beforeEach(() => {
  home = new Home();
});
afterEach(() => home.dispose());

function notify(env: Record<string, string> = {}, ...args: readonly string[]) {
  const all = { ...home.environment, ...env };
  const options = { env: all, cwd: home.work, encoding: "utf8" } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, "notify", ...args], options);
  return { status, stdout, stderr };
}

test("--test runs the program of the settings, with the texts as its last words", () => {
  const said = join(home.work, "said.txt");
  mkdirSync(home.paths.home, { mode: 0o700 });
  const command = ["/bin/sh", "-c", `printf '%s|' "$@" > ${said}`, "name"];
  writeFileSync(home.paths.config, JSON.stringify({ notify: { command } }));
  expect(notify({}, "--test")).toEqual({ status: 0, stdout: "", stderr: "" });
  expect(readFileSync(said, "utf8")).toBe("kite|Notices reach you.|");
});

/** A program on the PATH that keeps each of its words on a line, all line breaks in them marked. */
function recorder(folder: string, name: string): () => readonly string[] {
  const said = join(home.work, `${name}.said`);
  mkdirSync(folder, { recursive: true });
  const script = `#!${process.execPath}\nrequire("fs").appendFileSync(${JSON.stringify(said)}, JSON.stringify(process.argv.slice(2)))\n`;
  writeFileSync(join(folder, name), script, { mode: 0o755 });
  return () => JSON.parse(readFileSync(said, "utf8"));
}

/** What agents may call themselves, and what a client may ask for. */
const hostile = `-e 'x" & (do shell script "touch /tmp/owned") & "\u001b[31m\n$(id)`;

test.each(["notify-send", "osascript"])("%s gets texts as words, whatever agents wrote", async name => {
  const folder = join(home.work, "desktop");
  const words = recorder(folder, name);
  const project = join(home.work, "project");
  mkdirSync(project);
  const notifier = notifierOf(undefined, { PATH: folder }, project);
  const watch = new NoticeWatch({ personMs: 0, waitMs: 0 });
  const [notice] = watch.look([session(hostile, { attention: hostile })], [], 0);
  if (notice === undefined) throw new Error("nothing to tell");
  await notifier(notice);
  const before =
    name === "osascript"
      ? [
          "-e",
          "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run",
          "--",
        ]
      : ["--app-name=kite", "--"];
  expect(words()).toEqual([...before, notice.title, notice.text]);
  for (const text of [notice.title, notice.text]) {
    expect(text).not.toMatch(/^-|[\p{Cc}]/u);
    expect(text).toContain("do shell script");
  }
});

test("without a notifier it says what to do; without a daemon, too", () => {
  const missing = notify({ PATH: home.work }, "--test");
  expect(missing).toMatchObject({ status: 1, stdout: "" });
  expect(missing.stderr).toMatch(
    /^kite: this desktop has no notifier .* name a program of your own in config\.json/,
  );
  mkdirSync(home.paths.home, { mode: 0o700 });
  const settings = { command: ["/bin/true"] };
  writeFileSync(home.paths.config, JSON.stringify({ notify: { ...settings, personMs: 5 } }));
  expect(notify({ PATH: home.work }, "--test").stderr).toMatch(/config\.json: notify is ignored: /);
  writeFileSync(home.paths.config, JSON.stringify({ notify: settings }));
  expect(notify()).toMatchObject({ status: 3, stdout: "" });
});

test("with notify.start it begins with the daemon, tells first who waited, and ends with kite down", async () => {
  const said = join(home.work, "told.txt");
  mkdirSync(home.paths.home, { mode: 0o700 });
  // The notice is written last: whoever has read it finds the process, too.
  const command = ["/bin/sh", "-c", `echo $PPID > ${said}.pid; printf '%s|%s\\n' "$@" >> ${said}`, "name"];
  writeFileSync(home.paths.config, JSON.stringify({ notify: { start: true, command, waitMs: 1000 } }), {
    mode: 0o600,
  });
  await home.kite("up");
  const [ann, bob] = [await home.connect(), await home.connect()];
  await ann.ask({ type: "file_lock", id: "ann", file: join(home.work, "a.ts") });
  const waiting = bob.ask({ type: "file_lock", id: "bob", file: join(home.work, "a.ts"), waitMs: 60_000 });
  await expect
    .poll(() => (existsSync(said) ? readFileSync(said, "utf8") : ""), { timeout: 60_000 })
    .toContain("bob waits in");
  const pid = Number(readFileSync(`${said}.pid`, "utf8"));
  expect(isRunning(pid)).toBe(true);
  await ann.ask({ type: "file_unlock", id: "ann", file: join(home.work, "a.ts") });
  expect(await waiting).toMatchObject({ ok: true });
  await home.kite("down", "--yes");
  await expect.poll(() => isRunning(pid), { timeout: 30_000 }).toBe(false);
});

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
