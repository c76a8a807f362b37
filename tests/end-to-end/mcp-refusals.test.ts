/** What the tools answer to calls that cannot be done: by the tools' own names, and with files as the model names them. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Home } from "./daemon.ts";
import { Mcp } from "./mcp-client.ts";

let home: Home;
let mcp: Mcp;

beforeAll(async () => {
  home = new Home();
  await home.start();
  const alice = await home.session("alice", { name: "alice", project: home.work });
  const ask = async (request: Record<string, unknown>) =>
    expect(await alice.ask({ id: "alice", ...request })).toMatchObject({ ok: true });
  await ask({ type: "file_lock", file: "src/auth.ts" });
  await ask({ type: "file_lock", file: "src/db/" });
  await ask({ type: "file_lock", file: "package.json", bind: true });
  await ask({ type: "task_create", tasks: [{ description: "one" }, { description: "two" }] });
  await ask({ type: "task_update", task: "2", status: "done" });
  await ask({ type: "context_set", key: "k", value: 1 });
  mcp = await Mcp.start(home, { data: false });
  await mcp.call("kite_status");
});
afterAll(async () => {
  await mcp.close();
  await home.dispose();
});

/** Words of the wire, of the package that checks parameters, and of the shell. */
const foreign =
  /Input validation|expected|received|undefined|\bnull\b|exactly one of file\b|\bfile_\w|(?<!kite_)\btask_[a-z]+|kite (?:task (?:list|ready|show)|debate|context|message|spawn)|(?<![\w-])--[a-z]|status pending/;

const mistakes: readonly (readonly [string, Record<string, unknown>, string])[] = [
  ["kite_lock", {}, "give files, or a resource such as @db"],
  ["kite_lock", { resource: "a b" }, '"@a b" is no name of a resource: write @ and letters'],
  ["kite_lock", { resource: "@port-0" }, '"@port-0" is no port: write @port- and a number'],
  ["kite_lock", { files: ["@types/a.ts"] }, "a file is named with ./ before the @"],
  ["kite_lock", { files: [] }, "files: give at least 1 item"],
  ["kite_lock", { files: "a.ts" }, "files: give a list, not a text"],
  ["kite_lock", { file: "a.ts", files: ["a.ts"] }, "kite_lock has no parameter file; did you mean files?"],
  ["kite_lock", { files: ["a.ts", ""] }, "files[1] must not be empty"],
  ["kite_lock", { files: ["a.ts"], waitMs: -1 }, "waitMs: give at least 0"],
  ["kite_lock", { files: ["a.ts"], waitMs: 1e12 }, "waitMs: give at most 600000"],
  ["kite_lock", { files: ["a.ts"], waitMs: 1.5 }, "waitMs: give a whole number, not a number"],
  ["kite_unlock", {}, "give either files or a resource, or all: true"],
  ["kite_unlock", { files: ["a.ts"], all: true }, "give either files or a resource, or all: true"],
  ["kite_unlock", { all: false }, "give either files or a resource, or all: true"],
  ["kite_unlock", { resource: "db" }, "@db is neither held nor waited for by tester; nothing was released"],
  ["kite_unlock", { files: ["x.ts"] }, "x.ts is neither held nor waited for by tester; nothing was released"],
  ["kite_status", { details: "yes" }, "details: give true or false, not a text"],
  ["kite_status", { all: true }, "kite_status has no parameter all; it takes details, diff"],
  ["kite_status", { diff: "@db" }, '"@db" names a resource, not a file; the file is "./@db"'],
  ["kite_thaw", { freeze: 7 }, "freeze: give a text, not a number"],
  ["kite_declare", { understanding: { confidence: 7 } }, "understanding.confidence: give at most 1"],
  ["kite_declare", { codeView: [{ path: "x" }] }, "codeView[0].file is missing; give a text"],
  ["kite_declare", { codeView: [{ file: "x", drop: true }] }, "x is not in your code view"],
  [
    "kite_declare",
    { codeView: [{ file: "@db" }] },
    '"@db" names a resource, not a file; the file is "./@db"',
  ],
  ["kite_task_create", {}, "give exactly one of description and tasks"],
  ["kite_task_create", { tasks: [{ description: " " }] }, "tasks[0].description: a task needs a description"],
  ["kite_task_create", { description: "x", priority: "soon" }, "priority: give one of low, normal, high"],
  ["kite_task_create", { description: "x", dependsOn: ["zz"] }, "kite_task_list shows them"],
  ["kite_task_create", { description: "x", debate: "zz" }, "kite_debate (verb: list) shows them"],
  ["kite_task_list", { which: "all" }, "which: give one of open, ready, blocked, mine, finished"],
  ["kite_task_claim", { id: "1" }, "kite_task_claim has no parameter id; it takes task, labels"],
  ["kite_task_claim", { task: "2" }, "ask your user to open it again: kite task retry"],
  ["kite_task_fail", { task: "2", result: "no" }, "ask your user to open it again: kite task retry"],
  ["kite_task_complete", {}, "task is missing; give a text"],
  ["kite_spawn", {}, "say what the agent is to do: prompt, or task"],
  ["kite_spawn", { prompt: "x", from: "nope" }, "is in no git repository with a commit; use here: true, or"],
  ["kite_debate", { verb: "opens" }, "verb: give one of open, challenge"],
  ["kite_debate", { verb: "open" }, "verb open needs question, hypotheses; missing: question, hypotheses"],
  ["kite_debate", { verb: "show", debate: "zz" }, "kite_debate (verb: list) shows them"],
  ["kite_context_set", {}, "key is missing; give a text; value is missing; give a value"],
  ["kite_context_set", { key: "", value: 1 }, "key: an id is never empty"],
  ["kite_context_get", { key: "no" }, "kite_context_get without a key shows its keys"],
  ["kite_message", { text: "x" }, "give to, or replyTo"],
  ["kite_message", { to: ["alice"], text: "" }, "to: give a text, not a list; text must not be empty"],
  ["kite_inbox", { done: ["no"] }, "no is not in your inbox"],
  ["kite_broadcast", { message: "x", hold: ["a"] }, "hold: give an object, not a list"],
  [
    "kite_broadcast",
    { message: "x", hold: { files: [] } },
    "hold.files: give at least 1 item; hold.ttlMs is",
  ],
  [
    "kite_broadcast",
    { message: "x", hold: { files: ["@db"], ttlMs: 60_000 } },
    '"@db" names a resource, not a file; the file is "./@db"',
  ],
];

it.each(mistakes)("%s %j says what is wrong in the tool's own words", async (name, given, said) => {
  const { text, isError } = await mcp.call(name, given);
  expect({ text, isError }).toEqual({ text: expect.stringContaining(said), isError: true });
  expect(text).toMatch(/^Refused \([a-z]+(?:_[a-z]+)*\): \S/);
  expect(text.replace(/^Refused \([a-z_]+\)/, "")).not.toMatch(foreign);
});

describe("kite_lock of what another one keeps until its work is done", () => {
  const since = "until its work is done, for (?:less than a second|\\d+ s) now";
  it.each([
    ["src/auth.ts", `alice has locked src/auth\\.ts ${since}; `],
    ["src/db/x.ts", `alice has locked the directory src/db/ ${since}, and src/db/x\\.ts is in it; `],
    ["src/", `alice has locked src/auth\\.ts ${since}, and that is in src/; `],
  ])("is refused at once for %s, without a wait that nobody asked for", async (file, said) => {
    for (const given of [{}, { waitMs: 0 }]) {
      const waits: string[] = [];
      const onProgress = ({ message = "" }) => waits.push(message);
      const { text, isError } = await mcp.call("kite_lock", { files: [file], ...given }, { onProgress });
      const next =
        "work on something else and try again later, ask alice to release it \\(kite_message\\), or wait: waitMs";
      const all = expect.stringMatching(`^Refused \\(lock_held\\): ${said}${next}$`);
      expect({ text, isError, waits }).toEqual({ text: all, isError: true, waits: [] });
    }
  });

  it("waits if the call says for how long", async () => {
    const { text } = await mcp.call("kite_lock", { files: ["src/auth.ts"], waitMs: 1 });
    expect(text).toMatch(
      /^Refused \(lock_timeout\): src\/auth\.ts did not get free within 0\.001 s; alice has it/,
    );
  });

  it("of a file that a command holds is waited for: it ends by itself", async () => {
    const waits = await home.connect();
    await waits.ask({ type: "subscribe", events: ["lock_queued"] });
    const cancel = new AbortController();
    const asked = mcp.call("kite_lock", { files: ["package.json"] }, { signal: cancel.signal });
    expect(await waits.event("lock_queued")).toMatchObject({ waiter: { name: "tester" } });
    cancel.abort(new Error("no longer wanted"));
    await expect(asked).rejects.toThrow("no longer wanted");
  });
});
