/** One suite over every agent client: the same world, the same decisions, in the words of its own form. */
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { adapters } from "../../bin/adapters.ts";
import { type ClientMaker, clientMakers, type Said } from "./client-makers.ts";
import { type Client, Home, type Message } from "./daemon.ts";

let home: Home;
let watch: Client;

beforeAll(async () => {
  home = new Home();
  await home.start();
  watch = await home.connect();
});
afterAll(() => home.dispose());

test("each client that the daemon knows has its row here", () => {
  const [first, ...others] = adapters.map(({ name }) => name);
  expect(first).toBe("claude-code");
  expect(clientMakers.map(({ client }) => client)).toEqual([null, ...others]);
});

interface Session {
  readonly id: string;
  /** Sends the event; resolves when the answer is there. */
  does(event: Message): Promise<Said>;
  /** Sends the event, and resolves when its hook has heard that it waits. */
  waits(event: Message): Promise<{ readonly answer: Promise<Said> }>;
}

/** Another session of the project, of the client that names none. */
const [claude] = clientMakers as readonly [ClientMaker];
let sessions = 0;

describe.each(clientMakers.map(maker => [maker.client ?? "claude-code", maker] as const))(
  "%s",
  (name, of) => {
    let project: string;
    let file: string;
    let own: Session;
    let other: Session;

    beforeEach(async () => {
      project = home.folder();
      mkdirSync(join(project, "src"));
      file = join(project, "src", "a.ts");
      writeFileSync(file, "old\n");
      const git = (...args: readonly string[]) =>
        execFileSync("git", ["-C", project, "-c", "user.name=t", "-c", "user.email=t@t", ...args]);
      git("init", "-q");
      git("add", "-A");
      git("commit", "-qm", "first");
      sessions += 1;
      other = sessionOf(claude, `other-${sessions}`);
      own = sessionOf(of, `own-${sessions}`);
      await other.does(claude.start());
      await own.does(of.start());
      await own.does(of.prompt("turn-1"));
      return async () => {
        await own.does(of.end());
        await other.does(claude.end());
      };
    });

    function sessionOf(maker: ClientMaker, id: string): Session {
      const send = async (event: Message) => {
        const client = await home.connect();
        const named = maker.client === null ? {} : { client: maker.client };
        client.send({
          type: "hook",
          event: { ...event, session_id: id, cwd: project },
          ppid: process.pid,
          ...named,
        });
        const answer = client
          .next(({ ok }) => ok !== undefined)
          .then(reply => {
            expect(reply).toMatchObject({ ok: true });
            client.half();
            return maker.said(String(reply["output"]));
          });
        return { client, answer };
      };
      return {
        id,
        does: async event => await (await send(event)).answer,
        waits: async event => {
          const { client, answer } = await send(event);
          if (client.blanks === 0) await client.blank();
          return { answer };
        },
      };
    }

    async function holderOf(path: string): Promise<string | null> {
      const { rows } = await watch.ask({ type: "query", target: "locks", limit: 1_000 });
      const row = (rows as { path: string; holder: { id: string } | null }[]).find(one => one.path === path);
      return row?.holder?.id ?? null;
    }

    /** The other session writes the file, and its turn ends. */
    async function otherEdits(): Promise<void> {
      expect((await other.does(claude.beforeEdit(file, "o1"))).denial).toBeNull();
      writeFileSync(file, "other\n");
      await other.does(claude.afterEdit(file, "o1"));
      await other.does(claude.stop());
    }

    test("its session is known, by its client where the entries name one", async () => {
      const { rows } = await watch.ask({ type: "query", target: "sessions", limit: 1_000 });
      const row = (rows as { id: string; client?: string }[]).find(({ id }) => id === own.id);
      expect(row?.client ?? "claude-code").toBe(name);
    });

    test("it names the record of the spawned agent that it is, and no other client's process", () => {
      const env = { KITE_SPAWN: "a-1-1", HOME: "/home/ana", CLAUDE_PID: name === "claude-code" ? "40" : "7" };
      const calls = { begins: (words: string) => words, ends: (words: string) => words };
      const around = { env, ppid: 40, socket: "/s", home: "/k", waitMs: 0, wake: false, calls };
      const event = { ...of.start(), session_id: "s1", cwd: project };
      const plan = adapters.find(adapter => adapter.name === name)?.plan(event, around);
      expect(plan?.spawn).toBe("a-1-1");
      expect(plan?.actions).toContainEqual(expect.objectContaining({ do: "begin", pid: 40 }));
    });

    test("its start is told who else works in the project", async () => {
      const later = sessionOf(of, `later-${sessions}`);
      const { context } = await later.does(of.start());
      expect(context).toContain("2 other sessions work in this project");
      await later.does(of.end());
    });

    test("a free edit runs, and its file is locked until the turn ends", async () => {
      expect((await own.does(of.beforeEdit(file, "c1"))).denial).toBeNull();
      expect(await holderOf(file)).toBe(own.id);
      await own.does(of.afterEdit(file, "c1"));
      expect(await holderOf(file)).toBe(own.id);
      await own.does(of.stop());
      expect(await holderOf(file)).toBeNull();
    });

    test("an edit waits for the file that another session writes, and gets it", async () => {
      await other.does(claude.beforeEdit(file, "o1"));
      const { answer } = await own.waits(of.beforeEdit(file, "c1"));
      expect(await holderOf(file)).toBe(other.id);
      await other.does(claude.afterEdit(file, "o1"));
      await other.does(claude.stop());
      expect((await answer).denial).toBeNull();
      expect(await holderOf(file)).toBe(own.id);
    });

    test("an edit waits as long as the user lets its client wait, and no longer", async () => {
      onTestFinished(() => rmSync(home.paths.config));
      const waits = (values: object) => writeFileSync(home.paths.config, JSON.stringify(values));
      await other.does(claude.beforeEdit(file, "o1"));
      waits({ clientLockWaitMs: { [name]: 20 } });
      const { denial } = await own.does(of.beforeEdit(file, "c1"));
      expect(denial).toContain("You waited less than a second.");
      waits({ lockWaitMs: 20, yieldMs: 10, clientLockWaitMs: { [name]: 15_000 } });
      const { answer } = await own.waits(of.beforeEdit(file, "c2"));
      await other.does(claude.afterEdit(file, "o1"));
      await other.does(claude.stop());
      expect((await answer).denial).toBeNull();
    });

    test("another session waits for its write, until the end that it tells", async () => {
      await own.does(of.beforeEdit(file, "c1"));
      const { answer } = await other.waits(claude.beforeEdit(file, "o1"));
      await own.does(of.afterEdit(file, "c1"));
      await own.does(of.stop());
      expect((await answer).denial).toBeNull();
      expect(await holderOf(file)).toBe(other.id);
    });

    test("an edit of a file that another session keeps is denied, with who keeps it and what to do", async () => {
      await watch.ask({ type: "file_lock", id: other.id, file });
      const { denial } = await own.does(of.beforeEdit(file, "c1"));
      expect(denial).toMatch(/^Kite: this .+ did not run: another agent holds the file\./);
      expect(denial).toContain("What to do: ");
      expect(denial).toContain('"src/a.ts" is held by');
    });

    // Claude Code itself refuses an edit of a file that changed since its agent read it.
    const isStaleDenied = name !== "claude-code";

    test("a write over lines of another session that its agent has not seen is denied once, with who wrote them", async () => {
      await otherEdits();
      const { denial } = await own.does(of.beforeWhole(file, "c1"));
      if (!isStaleDenied) return expect(denial).toBeNull();
      expect(denial).toMatch(/^Kite: this .+ did not run: the file changed, and as far as Kite knows/);
      expect(denial).toMatch(/"other-?\d*" changed line 2 of "src\/a\.ts" .+ ago\./);
      expect(denial).toContain("What to do: read the file again unless you have, then write it.");
      // It has the file until it has written.
      expect(await holderOf(file)).toBe(own.id);
      expect((await own.does(of.beforeWhole(file, "c2"))).denial).toBeNull();
      await own.does(of.afterWhole(file, "c2"));
      await own.does(of.stop());
      await otherEdits();
      expect((await own.does(of.beforeWhole(file, "c3"))).denial).toMatch(/did not run/);
    });

    test("a write that waited while they were written is denied for that, and not again", async () => {
      await other.does(claude.beforeEdit(file, "o1"));
      const { answer } = await own.waits(of.beforeWhole(file, "c1"));
      writeFileSync(file, "other, and longer\n");
      await other.does(claude.afterEdit(file, "o1"));
      await other.does(claude.stop());
      expect((await answer).denial).toContain("the file changed while you waited");
      expect((await own.does(of.beforeWhole(file, "c2"))).denial).toBeNull();
    });

    test("an edit of a part of them runs, and leaves the rest unseen", async () => {
      await otherEdits();
      expect((await own.does(of.beforeEdit(file, "c1"))).denial).toBeNull();
      await own.does(of.afterEdit(file, "c1"));
      const { denial } = await own.does(of.beforeWhole(file, "c2"));
      expect(denial).toEqual(isStaleDenied ? expect.stringContaining("did not run") : null);
    });

    test("a write runs over what its session has written itself, or what was there before it began", async () => {
      await otherEdits();
      const later = sessionOf(of, `later-${sessions}`);
      await later.does(of.start());
      expect((await later.does(of.beforeWhole(file, "c1"))).denial).toBeNull();
      await later.does(of.afterWhole(file, "c1"));
      expect((await later.does(of.beforeWhole(file, "c2"))).denial).toBeNull();
      await later.does(of.end());
    });

    test("a stash over another session's uncommitted work is denied, and its own may be stashed", async () => {
      await otherEdits();
      const { denial } = await own.does(of.beforeLine("git stash", "c1"));
      expect(denial).toMatch(/^Kite: /);
      expect(denial).toContain("src/a.ts");
      expect((await other.does(claude.beforeLine("git stash", "o2"))).denial).toBeNull();
    });

    test("what it writes is its own: another session may not stash it", async () => {
      await own.does(of.beforeEdit(file, "c1"));
      writeFileSync(file, "own\n");
      await own.does(of.afterEdit(file, "c1"));
      await own.does(of.stop());
      const { denial } = await other.does(claude.beforeLine("git stash", "o1"));
      expect(denial).toContain("src/a.ts");
      expect((await own.does(of.beforeLine("git stash", "c2"))).denial).toBeNull();
    });

    test("a role that a person gave holds: a researcher writes nothing", async () => {
      const person = await home.connectPerson();
      const set = { type: "role_set", name: own.id, project, role: "researcher" };
      expect(await person.ask(set)).toMatchObject({ ok: true });
      const { denial } = await own.does(of.beforeEdit(file, "c1"));
      expect(denial).toMatch(/researcher/);
      expect(await holderOf(file)).toBeNull();
    });

    test("a line that runs a person's command so that nobody can see whose it is, is denied", async () => {
      const { denial } = await own.does(of.beforeLine("setsid kite off", "c1"));
      expect(denial).toContain("kite off");
      expect(denial).toContain("KITE_SESSION");
    });

    test("a message reaches its agent with its next edit", async () => {
      await watch.ask({ type: "message_send", id: other.id, to: own.id, text: "Leave b.ts to me." });
      const before = await own.does(of.beforeEdit(file, "c1"));
      const after = await own.does(of.afterEdit(file, "c1"));
      expect(before.context + after.context).toContain("Leave b.ts to me.");
      const next = await own.does(of.beforeEdit(file, "c2"));
      const last = await own.does(of.afterEdit(file, "c2"));
      expect(next.context + last.context).not.toContain("Leave b.ts to me.");
    });

    test("the next prompt ends what an interrupted turn left", async () => {
      await own.does(of.beforeEdit(file, "c1"));
      await own.does(of.prompt("turn-2"));
      expect(await holderOf(file)).toBeNull();
    });

    const { asksAllFirst } = adapters.find(adapter => adapter.name === name)?.limits ?? {};
    // Another client holds nothing that it does not write at once, so it closes no such cycle.
    const testCycle = asksAllFirst === true ? test : () => undefined;
    testCycle("of two sessions that each hold what the other asks for, one is denied", async () => {
      const second = join(project, "src", "b.ts");
      writeFileSync(second, "old\n");
      const mate = sessionOf(of, `mate-${sessions}`);
      await mate.does(of.start());
      await mate.does(of.prompt("turn-1"));
      // Each asks about both edits of one message before the first of them runs.
      expect((await own.does(of.beforeEdit(file, "c1"))).denial).toBeNull();
      expect((await mate.does(of.beforeEdit(second, "m1"))).denial).toBeNull();
      const { answer } = await own.waits(of.beforeEdit(second, "c2"));
      const { denial } = await mate.does(of.beforeEdit(file, "m2"));
      expect(denial).toContain("would close a cycle of waits");
      expect(denial).toContain("Make one edit a message");
      expect(await holderOf(file)).toBe(own.id);
      await mate.does(of.afterEdit(second, "m1"));
      await mate.does(of.stop());
      expect((await answer).denial).toBeNull();
      expect([await holderOf(file), await holderOf(second)]).toEqual([own.id, own.id]);
      await own.does(of.afterEdit(file, "c1"));
      await own.does(of.afterEdit(second, "c2"));
      await mate.does(of.end());
    });

    test("its end frees what it holds", async () => {
      await own.does(of.beforeEdit(file, "c1"));
      await own.does(of.end());
      expect(await holderOf(file)).toBeNull();
      const { rows } = await watch.ask({ type: "query", target: "sessions", limit: 1_000 });
      expect((rows as { id: string }[]).map(({ id }) => id)).not.toContain(own.id);
    });
  },
);
