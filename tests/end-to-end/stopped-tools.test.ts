/** What the trail says of a tool that does not run: one denial for each verdict, and no edit that had its file. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ReportCounter } from "../../bin/trail/report-counter.ts";
import { AgentLanes } from "../../bin/web/lanes.ts";
import type { TrailLine } from "../../daemon/trail/line.ts";
import { claudeCode } from "../../hooks/claude-code/adapter.ts";
import type { HookOutcome } from "../../hooks/seam/slices.ts";
import { command, GuardWorld } from "./guard-world.ts";

const w = new GuardWorld();
let uses = 0;

/** A lock action of a tool that writes the whole file. */
function whole(session: string, dir: string, more: object = {}): object {
  uses += 1;
  const who = {
    session,
    cwd: dir,
    toolUseId: `write-${uses}`,
    ancestors: [],
    promptId: null,
    parentFile: null,
  };
  const path = join(dir, "a.ts");
  return { do: "lock", ...who, file: path, waitMs: 20_000, overwrites: [path], ...more };
}

/** The lines of a session, but those of an index; its events are those of a client's hook. */
async function trailOf(session: string): Promise<readonly TrailLine[]> {
  const lines = (await w.trail(session)).filter(({ file }) => file?.includes("/.git/") !== true);
  return lines.map(line => (line.event === "test" ? { ...line, event: "PreToolUse" } : line));
}

const unread = (dir: string) => ({ overwrites: [], unchecked: { whole: [join(dir, "a.ts")] } });

function verdicts(outcomes: readonly HookOutcome[]): string[] {
  return outcomes.flatMap(one => ("verdict" in one ? `${one.did} ${one.verdict}` : []));
}

/** What tells a decision from others. */
function decisions(lines: readonly TrailLine[]): object[] {
  const decided = lines.filter(({ event, decision }) => decision !== "event" && event !== "session_started");
  return decided.map(({ event, decision, rule, would }) => ({
    event,
    decision,
    rule,
    ...(would === undefined ? {} : { would }),
  }));
}

function reportOf(lines: readonly TrailLine[]) {
  const counter = new ReportCounter({ since: 0, project: null });
  for (const line of lines) counter.add(line);
  return counter.report;
}

function spansOf(lines: readonly TrailLine[]): string[] {
  const lanes = new AgentLanes(0, Number.MAX_SAFE_INTEGER);
  for (const line of lines) lanes.add(line);
  const wanted = { fromMs: 0, untilMs: Date.now() + 1000, project: null, since: 0, home: "/home/ana" };
  return lanes
    .timeline(wanted)
    .lanes.flatMap(({ spans, marks }) => [
      ...spans.map(({ kind, untilMs }) => `${kind}${untilMs === null ? " now" : ""}`),
      ...marks.flatMap(({ kind }) => (kind === "denial" ? [kind] : [])),
    ]);
}

const granted = { event: "lock_granted", decision: "note", rule: "lock" };
const stale = { event: "PreToolUse", decision: "deny", rule: "stale" };

describe("an edit that has its lock and does not run", () => {
  beforeAll(() => w.start());
  afterAll(() => w.stop());

  test("since the file changed while its agent waited: is denied once, and keeps the lock", async () => {
    const dir = w.repo("waited");
    await w.begin("ann", dir);
    await w.begin("bob", dir);
    const first = whole("ann", dir, { overwrites: [] });
    await w.act(first);
    const waiting = w.act(whole("bob", dir));
    const client = await w.client();
    const waiters = async () =>
      JSON.stringify((await client.ask({ type: "query", target: "locks" }))["rows"]);
    await expect.poll(waiters, { timeout: 20_000 }).toMatch(/"waiters":\[\{"id":"bob"/);
    w.put(dir, "a.ts", "ann's, and longer\n");
    await w.act({ ...first, do: "flight_end", wrote: true, file: join(dir, "a.ts"), lines: "line 1" });
    await w.stopped("ann");
    expect(verdicts(await waiting)).toEqual(["lock deny"]);
    const lines = await trailOf("bob");
    const waits = { event: "lock_queued", decision: "wait", rule: "lock" };
    expect(decisions(lines)).toEqual([waits, granted, stale]);
    const [, got, denied] = lines.filter(({ decision, file }) => decision !== "event" && file !== null);
    expect(got).toMatchObject({ file: join(dir, "a.ts"), waitedMs: expect.any(Number) });
    expect(denied).toMatchObject({
      file: join(dir, "a.ts"),
      type: "test",
      why: "ann changed it while the agent waited, and it would have been overwritten unread",
    });
    const { edits, waits: counted, denials, collisions } = reportOf(lines);
    expect(edits).toEqual({ count: 0, waited: 0, onRequest: 0 });
    expect(counted).toMatchObject({ count: 1, refused: 0 });
    expect(denials).toMatchObject({ count: 1, rules: [{ name: "stale", count: 1 }] });
    expect(collisions).toBe(0);
    expect(spansOf(lines)).toEqual(["wait", "hold now", "denial"]);
  });

  test("since it would undo what its agent has not read: is denied once, and counts when it has its file", async () => {
    const dir = w.repo("unread");
    await w.begin("carl", dir);
    await w.begin("dana", dir);
    await w.edit("carl", dir, "a.ts", "carl's, and longer\n");
    await w.stopped("carl");
    expect(verdicts(await w.act(whole("dana", dir, unread(dir))))).toEqual(["lock deny"]);
    expect(verdicts(await w.act(whole("dana", dir, unread(dir))))).toEqual(["lock allow"]);
    const lines = await trailOf("dana");
    expect(decisions(lines)).toEqual([
      granted,
      stale,
      { event: "PreToolUse", decision: "allow", rule: "lock" },
    ]);
    expect(lines.find(({ rule }) => rule === "stale")?.why).toMatch(
      /^carl changed it .+ ago, and as far as Kite knows the agent has not read that$/,
    );
    const { edits, denials } = reportOf(lines);
    expect(edits).toEqual({ count: 1, waited: 0, onRequest: 0 });
    expect(denials).toMatchObject({ count: 1, fates: { got: 1, elsewhere: 0, gaveUp: 0, open: 0 } });
    expect(spansOf(lines)).toEqual(["hold now", "denial"]);
  });

  test("counts once if hooks are installed twice, as an edit that runs does", async () => {
    const dir = w.repo("twice");
    await w.begin("ned", dir);
    await w.begin("oda", dir);
    await w.edit("ned", dir, "a.ts", "ned's, and longer\n");
    await w.stopped("ned");
    for (let n = 0; n < 2; n += 1) {
      const write = whole("oda", dir, unread(dir));
      await Promise.all([w.act(write), w.act(write)]);
    }
    const ran = { event: "PreToolUse", decision: "allow", rule: "lock" };
    expect(decisions(await trailOf("oda"))).toEqual([granted, stale, ran]);
  });

  test("of several files: nothing else of the tool counts as let through", async () => {
    const dir = w.repo("patch", ["a.ts", "b.ts", ".gitignore"]);
    w.put(dir, ".kite/config.json", JSON.stringify({ ignore: ["gen/"] }));
    await w.begin("eve", dir);
    await w.begin("finn", dir);
    await w.edit("eve", dir, "a.ts", "eve's, and longer\n");
    await w.stopped("eve");
    const more = { ...unread(dir), moreFiles: [join(dir, "b.ts"), join(dir, "gen", "c.ts")] };
    const patch = whole("finn", dir, more);
    const note = { commands: [], aliases: [], unread: "a part is no patch", line: "apply_patch", typed: "" };
    expect(verdicts(await w.act(patch, { ...patch, ...note, do: "guard" }))).toEqual(["lock deny"]);
    // The second file was locked with the first.
    expect(decisions(await trailOf("finn"))).toEqual([granted, granted, stale]);
  });
});

describe("a shell line that had its files and does not run", () => {
  beforeAll(() => w.start());
  afterAll(() => w.stop());

  test("since a later command of it is denied: it has one denial, and no file", async () => {
    const dir = w.repo("line");
    await w.begin("gus", dir);
    await w.begin("hal", dir);
    await w.edit("gus", dir, "b.ts", "gus's, and longer\n");
    await w.stopped("gus");
    uses += 1;
    const who = { session: "hal", cwd: dir, toolUseId: `line-${uses}`, promptId: null, waitMs: 20_000 };
    const line = { ...who, ancestors: [], parentFile: null };
    const edited = [{ path: join(dir, "a.ts"), name: "sed -i", isMoved: false }];
    const named = { wiped: [], edited, rewritten: [] };
    const commands = [{ dir, ...command("git checkout", { paths: ["b.ts"] }) }];
    const guard = { ...line, do: "guard", commands, aliases: [], unread: null, line: "git", typed: "" };
    const outcomes = await w.act({ ...line, do: "plain_files", named }, guard);
    expect(verdicts(outcomes)).toEqual(["plain_files allow", "guard deny"]);
    const lines = await trailOf("hal");
    expect(decisions(lines)).toEqual([
      granted,
      { event: "lock_released", decision: "note", rule: "lock" },
      { event: "PreToolUse", decision: "deny", rule: "guard" },
    ]);
    expect(reportOf(lines)).toMatchObject({ edits: { count: 0, onRequest: 0 }, denials: { count: 1 } });
    expect(spansOf(lines)).toEqual(["hold", "denial"]);
  });

  test("is denied once, however many of the client's rules it matches", async () => {
    const dir = w.repo("rules");
    await w.begin("lea", dir);
    await w.begin("max", dir);
    await w.edit("lea", dir, "b.ts", "lea's, and longer\n");
    await w.stopped("lea");
    const asks = [command("git checkout", { paths: ["b.ts"] })];
    const more = { toolUseId: "two-rules" };
    await Promise.all([w.guard("max", dir, asks, more), w.guard("max", dir, asks, more)]);
    const lines = await trailOf("max");
    const denials = lines.filter(({ decision }) => decision === "deny");
    expect(denials).toMatchObject([{ rule: "guard", type: "git checkout" }]);
    expect(reportOf(lines).stops.count).toBe(1);
  });

  test("since it hides a person's command: it has one denial", async () => {
    await w.stop();
    await w.start("deny", claudeCode);
    const dir = w.repo("hidden");
    const call = { tool_name: "Bash", tool_use_id: "h1", tool_input: { command: "CLAUDECODE= kite off" } };
    // The client runs a hook for each of its rules that the line matches.
    const ask = () => w.event("ida", dir, { hook_event_name: "PreToolUse", ...call });
    for (const said of await Promise.all([ask(), ask()])) expect(said).toContain("did not run");
    const denials = (await trailOf("ida")).filter(({ decision }) => decision === "deny");
    expect(denials).toMatchObject([{ event: "PreToolUse", type: "Bash", rule: "person" }]);
  });
});

describe("where Kite only observes", () => {
  beforeAll(() => w.start());
  afterAll(() => w.dispose());

  test("such an edit runs and counts, and the trail says what Kite would have done", async () => {
    const dir = w.repo("observed");
    await w.begin("jan", dir);
    await w.begin("kim", dir);
    await w.edit("jan", dir, "a.ts", "jan's, and longer\n");
    await w.stopped("jan");
    await w.stop();
    writeFileSync(w.paths.config, JSON.stringify({ mode: "observe" }));
    await w.start();
    const client = await w.client();
    const silent = await client.ask({ type: "hook", event: { actions: [whole("kim", dir, unread(dir))] } });
    expect(silent).toEqual({ ok: true, output: "" });
    const lines = await trailOf("kim");
    expect(decisions(lines)).toEqual([
      { event: "PreToolUse", decision: "allow", rule: "lock" },
      { event: "PreToolUse", decision: "note", rule: "stale", would: "deny" },
    ]);
    const { edits, denials, observed } = reportOf(lines);
    expect(edits.count).toBe(1);
    expect(denials.count).toBe(0);
    expect(observed).toMatchObject({ denials: 1, tells: 0 });
  });

  test("a line that several of the client's rules match counts once", async () => {
    await w.stop();
    await w.start("deny", claudeCode);
    const dir = w.repo("observed-rules");
    await w.wholeEdit("lou", dir, "b.ts", "lou's, and longer\n");
    const call = { tool_name: "Bash", tool_use_id: "o1", tool_input: { command: "git checkout b.ts" } };
    const ask = () => w.event("mia", dir, { hook_event_name: "PreToolUse", ...call });
    expect(await Promise.all([ask(), ask()])).toEqual(["", ""]);
    const observed = (await trailOf("mia")).filter(({ would }) => would !== undefined);
    expect(observed).toMatchObject([{ decision: "note", rule: "guard", would: "deny" }]);
  });
});
