/**
 * An answer that its client never got told nobody anything: whatever was in it comes again with the next one, and what
 * an answer told that was got does not.
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import type { HookOutcome } from "../../hooks/seam/slices.ts";
import { commitAll, GuardWorld } from "./guard-world.ts";

const w = new GuardWorld();
let count = 0;

beforeAll(() => w.start());
afterAll(() => w.dispose());

interface Pair {
  readonly dir: string;
  readonly ann: string;
  readonly bob: string;
}

async function pair(): Promise<Pair> {
  count += 1;
  const dir = w.repo(`r${count}`);
  const [ann, bob] = [`ann${count}`, `bob${count}`];
  for (const session of [ann, bob]) await w.begin(session, dir);
  return { dir, ann, bob };
}

const take = (session: string) => ({ do: "inbox", session, take: true });

/** An edit that goes as far as its lock. */
function lock(session: string, dir: string, file: string, waitMs = 0, toolUseId = `lock ${file}`) {
  const asked = { do: "lock", session, cwd: dir, file: `${dir}/${file}`, toolUseId, waitMs };
  return { ...asked, promptId: null, ancestors: [], parentFile: null, overwrites: [] };
}

/** The same acts as one event whose client goes away before it has its answer: a further edit in it waits for a lock. */
async function unheard(session: string, dir: string, ...acts: readonly object[]): Promise<void> {
  const events = await w.client();
  await events.ask({ type: "subscribe", events: ["lock_queued", "lock_wait_ended"] });
  const holder = await w.client();
  const held = await holder.ask({
    type: "file_lock",
    id: `holder${count}`,
    cwd: dir,
    file: `${dir}/blocked`,
    bind: true,
  });
  expect(held).toMatchObject({ ok: true });
  const client = await w.client();
  const blocked = lock(session, dir, "blocked", 30_000);
  client.send({ type: "hook", event: { actions: [...acts, blocked] } });
  await events.event("lock_queued");
  client.destroy();
  await events.event("lock_wait_ended");
  await holder.ask({ type: "file_unlock", id: `holder${count}`, file: `${dir}/blocked` });
}

/** What an event of these acts tells, in short; nothing where it tells nothing. */
async function told(...acts: readonly object[]): Promise<string[]> {
  return (await w.act(...acts)).flatMap(wordsOf);
}

function wordsOf(outcome: HookOutcome): string[] {
  if (!outcome.ok) return [`refused: ${outcome.refusal.code}`];
  if (outcome.did === "lock") return outcome.mergeRisks.map(({ file }) => `risk ${file}`);
  if (outcome.did === "guard") return outcome.findings.map(({ verdict }) => verdict);
  if (outcome.did === "list_peers") return outcome.keys.map(key => `value ${key}`);
  if (outcome.did !== "inbox") return [];
  return [
    ...(outcome.notes ?? []).map(({ what }) => what),
    ...outcome.messages.map(({ text }) => `message ${text}`),
    ...(typeof outcome.terminals === "number" ? [`open in ${outcome.terminals}`] : []),
  ];
}

/** How something comes about of which a session is to be told, and the acts that tell it. */
type Told = (p: Pair) => Promise<readonly object[]>;

const kinds: readonly (readonly [string, string, Told])[] = [
  [
    "conflict",
    "two that wrote the same file",
    async ({ dir, ann, bob }) => {
      await w.edit(ann, dir, "a.ts", "ann\n");
      await w.stopped(ann);
      await w.edit(bob, dir, "a.ts", "bob\n");
      return [take(ann)];
    },
  ],
  [
    "bypassed",
    "a shell command that changed a file past its holder",
    async ({ dir, ann, bob }) => {
      await w.edit(ann, dir, "a.ts", "ann\n");
      w.put(dir, "a.ts", "bob\n");
      await w.ended(bob, dir);
      return [take(ann)];
    },
  ],
  [
    "lost_update",
    "a write that came after its lock had gone",
    async ({ dir, ann }) => {
      await w.act(lock(ann, dir, "a.ts", 0, "late"));
      const person = await w.person();
      await person.ask({ type: "file_unlock", file: `${dir}/a.ts`, force: true });
      const late = { session: ann, cwd: dir, toolUseId: "late", ancestors: [], lines: null };
      await w.act({ do: "flight_end", ...late, wrote: true, file: `${dir}/a.ts` });
      return [take(ann)];
    },
  ],
  [
    "committed",
    "a commit of its work",
    async ({ dir, ann, bob }) => {
      await w.edit(ann, dir, "a.ts", "ann\n");
      await w.stopped(ann);
      await w.guard(bob, dir, [commitAll]);
      expect(await w.found(bob, dir, [commitAll])).toEqual([]);
      w.git(dir, "commit", "-qam", "all");
      await w.ended(bob, dir);
      return [take(ann)];
    },
  ],
  [
    "message hello",
    "a message",
    async ({ ann, bob }) => {
      const client = await w.client();
      const sent = await client.ask({ type: "message_send", id: bob, to: ann, text: "hello" });
      expect(sent).toMatchObject({ ok: true });
      return [take(ann)];
    },
  ],
  [
    "value port",
    "a change among the others",
    async ({ ann, bob }) => {
      const client = await w.client();
      const set = await client.ask({ type: "context_set", id: bob, key: "port", value: 1 });
      expect(set).toMatchObject({ ok: true });
      return [{ do: "list_peers", session: ann, changesOnly: true }];
    },
  ],
  [
    "open in 2",
    "another terminal with its session",
    async ({ dir, ann }) => {
      const client = await w.client();
      for (const pid of [process.pid, process.ppid]) {
        expect(await client.ask({ type: "register", id: ann, cwd: dir, pid })).toMatchObject({ ok: true });
      }
      return [take(ann)];
    },
  ],
  [
    "risk a.ts",
    "a file that is changed in another worktree",
    async ({ dir, ann, bob }) => {
      w.git(dir, "worktree", "add", "-q", "-b", `side${count}`, `../side${count}`);
      await w.edit(ann, dir, "a.ts", "ann\n");
      await w.edit(bob, `${w.folder}/side${count}`, "a.ts", "bob\n");
      return [lock(ann, dir, "b.ts")];
    },
  ],
];

it.each(kinds)(
  "%s: %s is told again where the answer with it was lost, and once where it was not",
  async (words, _what, happen) => {
    const p = await pair();
    const acts = await happen(p);
    await unheard(p.ann, p.dir, ...acts);
    expect(await told(...acts)).toContain(words);
    expect(await told(...acts)).not.toContain(words);
  },
);

it("what an agent did not hear that is gone is told to its session's main agent", async () => {
  const { dir, ann, bob } = await pair();
  const agent = "a0123456789abcdef";
  await w.act({ do: "heartbeat", session: ann, agent, active: true });
  await w.edit(ann, dir, "a.ts", "ann\n", { agent, ancestors: [null] });
  w.put(dir, "a.ts", "bob\n");
  await w.ended(bob, dir);
  await w.act({ do: "turn_end", session: ann, agent });
  await w.ended(bob, dir, { ranMs: 60_000 });
  expect(await told(take(ann))).toEqual([]);
  await w.act({ do: "heartbeat", session: ann, agent, ended: true });
  expect(await told(take(ann))).toEqual(["bypassed"]);
});
