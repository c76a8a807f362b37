/** The keys of kite watch, pressed in a real terminal: what they show, and what they do to the chosen session. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { afterEach, beforeEach, expect, onTestFailed, test } from "vitest";
import { widthOf } from "../../bin/view/text.ts";
import { type Client, Home } from "./daemon.ts";
import { kiteProgram } from "./kite.ts";

let home: Home;
let alice: Client;

beforeEach(async () => {
  home = new Home();
  execFileSync("git", ["init", "-q", "-b", "main"], { cwd: home.work, env: home.environment });
  await home.start();
  alice = await home.session("alice", { project: home.work });
  await home.session("bob", { project: home.work });
  const write = {
    tool_name: "Write",
    tool_input: { file_path: `${home.work}/a.ts`, content: "" },
    tool_use_id: "w",
  };
  const event = { session_id: "alice", cwd: home.work, hook_event_name: "PreToolUse", ...write };
  const locked = await alice.ask({ type: "hook", event });
  expect(locked).toMatchObject({ ok: true });
});
afterEach(() => home.dispose());

/** A terminal with kite watch in it, or another command. */
class Terminal {
  readonly #child;
  readonly #columns: number;
  readonly #rows: number;
  #said = "";
  #heard = () => {};

  constructor(columns: number, rows: number, words = "watch", env: Record<string, string> = {}) {
    [this.#columns, this.#rows] = [columns, rows];
    const line = `stty cols ${columns} rows ${rows}; exec '${process.execPath}' '${kiteProgram}' ${words}`;
    this.#child = home.adopt(
      spawn("script", ["-qfec", line, "/dev/null"], {
        cwd: home.work,
        env: { ...home.environment, TERM: "xterm", NO_COLOR: "1", ...env },
        stdio: ["pipe", "pipe", "inherit"],
      }),
    );
    onTestFailed(() => console.error(this.lines.join("\n")));
    this.#child.stdout.setEncoding("utf8").on("data", (text: string) => {
      this.#said += text;
      this.#heard();
    });
  }

  /** The screen as it was drawn last, as far as that has come. */
  get lines(): string[] {
    const frame = this.#said.slice(Math.max(0, this.#said.lastIndexOf("\u001b[H")));
    // biome-ignore lint/suspicious/noControlCharactersInRegex: controls of the terminal
    return frame.replaceAll(/\u001b\[[0-9;?]*[A-Za-z]/g, "").split(/\r+\n/);
  }

  press(keys: string): void {
    this.#child.stdin.write(keys);
  }

  /** Resolves when a line of the screen fits; the screen never is larger than the terminal. */
  async shows(text: string | RegExp): Promise<void> {
    const fits = (line: string) => (typeof text === "string" ? line.includes(text) : text.test(line));
    while (!this.lines.some(fits)) {
      expect(this.#child.exitCode, this.lines.join("\n")).toBe(null);
      await new Promise<void>(resolve => {
        this.#heard = resolve;
      });
    }
    expect(this.lines.length).toBeLessThanOrEqual(this.#rows);
    for (const line of this.lines) expect(widthOf(line), line).toBeLessThanOrEqual(this.#columns);
  }

  async ended(): Promise<number | null> {
    const [code] = await once(this.#child, "close");
    return code;
  }

  /** What came after the last frame, as a terminal gets it. */
  get rest(): string {
    return this.#said.slice(-40);
  }
}

async function locks(): Promise<unknown> {
  return (await alice.ask({ type: "query", target: "locks" }))["rows"];
}

async function inbox(id: string): Promise<readonly { readonly text: string }[]> {
  const reply = await alice.ask({ type: "query", target: "messages", id });
  return reply["rows"] as readonly { readonly text: string }[];
}

test.each([
  [80, 24],
  [60, 15],
  [160, 40],
])(
  "on %d columns and %d rows they look, ask before they change, and do what the commands do",
  async (columns, rows) => {
    const terminal = new Terminal(columns, rows);
    await terminal.shows("> alice");
    terminal.press("?");
    await terminal.shows(/^ +r +give back its tasks/);
    terminal.press("\u001b");
    await terminal.shows("Enter alice");
    terminal.press("e");
    await terminal.shows("kite explain --agent alice");
    await terminal.shows(/alice holds a\.ts since/);
    await terminal.shows("Esc back");
    terminal.press("jk \u001b");
    await terminal.shows("> alice");
    terminal.press("d");
    await terminal.shows("Nothing differs.");
    terminal.press("\u001b");
    await terminal.shows("> alice");
    terminal.press("g");
    await terminal.shows("Kite knows of no process of");
    terminal.press("\u001b");
    await terminal.shows("> alice");

    terminal.press("mhellp\u007f");
    await terminal.shows(/^to alice: hell_ /);
    terminal.press("\u001b");
    await terminal.shows("> alice");
    expect(await inbox("alice")).toEqual([]);
    // A line break that is pasted sends nothing, nor does what is pasted press keys.
    terminal.press("\u001b[200~ry\r\u001b[201~mhello \u001b[200~there\r\nand \u001b[31mon\u001b[201~");
    await terminal.shows("there and [31mon_ ");
    expect(await inbox("alice")).toEqual([]);
    terminal.press("\r");
    await terminal.shows(/sent|message|m-\d/i);
    const said = ["hello there and [31mon"];
    await expect.poll(async () => (await inbox("alice")).map(({ text }) => text)).toEqual(said);
    terminal.press("\u001b");

    terminal.press("r");
    await terminal.shows("give back what alice has? y yes   other keys no");
    terminal.press("n");
    await terminal.shows("Enter alice");
    expect(await locks()).toHaveLength(1);
    terminal.press("ry");
    await expect.poll(locks).toEqual([]);
    await terminal.shows(/lock of alice released|no task and no edit lock/);

    terminal.press("\u001bo");
    await terminal.shows("let edits of alice through for 1 h? y yes");
    terminal.press("y");
    await terminal.shows(/off for/i);
    const off = await alice.ask({ type: "overview" });
    expect(JSON.stringify(off["off"])).toContain("alice");

    terminal.press("\u001bq");
    expect(await terminal.ended()).toBe(0);
    expect(terminal.rest).toContain("\u001b[?1049l");
  },
);

test("the mark and a question stay with the session whose row moves, and go when it ends", async () => {
  const terminal = new Terminal(80, 24);
  await terminal.shows("> alice");
  terminal.press("j");
  await terminal.shows("> bob");
  terminal.press("r");
  await terminal.shows("give back what bob has? y yes");
  const bob = await home.connect();
  const asks = { hook_event_name: "PermissionRequest", tool_name: "Bash", tool_input: { command: "make" } };
  await bob.ask({ type: "hook", event: { session_id: "bob", cwd: home.work, ...asks } });
  await terminal.shows(/> bob .*needs you/);
  await terminal.shows("give back what bob has? y yes");
  await bob.ask({ type: "deregister", id: "bob" });
  await terminal.shows("Enter alice");
  // The yes that comes late means nobody.
  terminal.press("y");
  terminal.press("e");
  await terminal.shows(/alice holds a\.ts since/);
  expect(await locks()).toHaveLength(1);
  terminal.press("q");
  expect(await terminal.ended()).toBe(0);
});

test("without an input it has no keys, and Ctrl-C ends it as it does any command", async () => {
  const terminal = new Terminal(80, 24, "watch </dev/null");
  await terminal.shows("> alice");
  terminal.press("\u0003");
  expect(await terminal.ended()).toBe(0);
  expect(terminal.rest).toContain("\u001b[?1049l");
});

test("kite diff is shown in the person's pager, and without one as it is", async () => {
  writeFileSync(`${home.work}/b.ts`, "new\n");
  for (const [pager, shown] of [
    ["sed s/^/paged:/", /^paged: *│ \+new/],
    ["cat", /^ *│ \+new/],
    ["/no/such/pager", /^ *│ \+new/],
  ] as const) {
    const terminal = new Terminal(80, 24, "diff b.ts", { GIT_PAGER: pager });
    expect(await terminal.ended()).toBe(0);
    await terminal.shows(shown);
  }
  // An agent's pseudo-terminal has nobody who would leave the pager.
  const agents = new Terminal(80, 24, "diff b.ts", { GIT_PAGER: "sed s/^/paged:/", KITE_SESSION: "alice" });
  expect(await agents.ended()).toBe(0);
  await agents.shows(/^ *│ \+new/);
});
