/**
 * Kite's folder, or a part of its journal, goes while the daemon runs: whatever is acknowledged after that would be
 * found by nobody, so nothing is; who waits is told, and the daemon leaves.
 */
import { cpSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Client, Home, type Message } from "./daemon.ts";

let home: Home;
beforeEach(() => {
  home = new Home();
});
afterEach(() => home.dispose());

const segment = () => {
  const name = readdirSync(home.paths.journal).findLast(one => one.endsWith(".log"));
  return join(home.paths.journal, name ?? "");
};

function replaced(folder: string): void {
  cpSync(folder, `${folder}.copy`, { recursive: true, filter: from => !from.endsWith(".sock") });
  renameSync(folder, `${folder}.before`);
  renameSync(`${folder}.copy`, folder);
}

/** The daemon opens its other stores meanwhile: what it makes after a folder was listed is removed by the next try. */
function removed(folder: string): void {
  for (let tries = 1; ; tries += 1) {
    try {
      rmSync(folder, { recursive: true });
      return;
    } catch (error) {
      const isFilled = error instanceof Error && "code" in error && error.code === "ENOTEMPTY";
      if (!isFilled || tries === 20) throw error;
    }
  }
}

const ways: readonly (readonly [string, () => void])[] = [
  ["Kite's folder is removed", () => removed(home.paths.home)],
  ["Kite's folder is renamed", () => renameSync(home.paths.home, `${home.paths.home}2`)],
  ["Kite's folder is replaced by a copy", () => replaced(home.paths.home)],
  ["the journal's folder is removed", () => removed(home.paths.journal)],
  ["the journal's folder is renamed", () => renameSync(home.paths.journal, `${home.paths.journal}2`)],
  ["the journal's folder is replaced by a copy", () => replaced(home.paths.journal)],
  ["the segment alone is removed", () => rmSync(segment())],
  [
    "the segment alone is replaced",
    () => {
      const path = segment();
      rmSync(path);
      writeFileSync(path, "", { mode: 0o600 });
    },
  ],
];

/** The answers to these, each sent on its own; null where the connection ended first. */
function answers(client: Client, requests: readonly Message[]): Promise<readonly (Message | null)[]> {
  return Promise.all(
    requests.map((request, n) => {
      client.send({ ...request, rid: `r${n}` });
      return client.replyTo(`r${n}`).catch(() => null);
    }),
  );
}

describe.each(ways)("%s", (_what, take) => {
  test("nothing is acknowledged from then on, and the daemon leaves", async () => {
    const daemon = await home.start();
    const ann = await home.session("ann");
    const file = `${home.work}/a`;
    expect(await ann.ask({ type: "file_lock", id: "ann", file })).toMatchObject({ ok: true });
    expect(await ann.ask({ type: "task_create", id: "ann", description: "before" })).toMatchObject({
      ok: true,
    });
    const bob = await home.session("bob");
    bob.send({ type: "file_lock", id: "bob", file, progress: true, rid: "waits" });
    await bob.event("lock_queued");
    const waiting = bob.replyTo("waits");
    take();
    const said = await answers(ann, [
      { type: "task_create", id: "ann", description: "after" },
      { type: "file_lock", id: "ann", file: `${home.work}/b` },
      { type: "file_unlock", id: "ann", file },
      { type: "message_send", id: "ann", to: "bob", text: "hello" },
      { type: "context_set", id: "ann", key: "k", value: 1 },
    ]);
    for (const reply of said) {
      if (reply === null) continue;
      expect(reply).toMatchObject({ ok: false, code: expect.stringMatching(/^(?:store_lost|restarting)$/) });
      expect(reply["error"]).toMatch(/kite up|connect again/);
    }
    expect(await waiting).toMatchObject({ ok: false, code: "restarting" });
    await daemon.exited;
  });

  test("an idle daemon notices it, too", async () => {
    const daemon = await home.start();
    take();
    await daemon.exited;
  });
});

test("who comes at once is told which files, and what to do", async () => {
  const daemon = await home.start();
  const ann = await home.session("ann");
  rmSync(home.paths.journal, { recursive: true, maxRetries: 10 });
  // The daemon looks by itself every second as well: it may have seen it first.
  const reply = await ann.ask({ type: "task_create", id: "ann", description: "after" });
  if (reply["code"] !== "restarting") {
    expect(reply["code"]).toBe("store_lost");
    expect(reply["error"]).toContain(`${home.paths.journal} were removed, moved or replaced`);
  }
  await daemon.exited;
});

test("a start without the journal's last segment is refused, and kite doctor explains it", async () => {
  for (const id of ["ann", "bob"]) {
    const daemon = await home.start();
    await home.session(id);
    await daemon.kill();
  }
  const path = segment();
  rmSync(path);
  const { daemon, word } = home.begin();
  const said = await word;
  expect(said).toMatch(
    /^error the journal is damaged: its last segment .* is missing, with entries from \d+ on/,
  );
  expect(said).toContain(path);
  expect((await daemon.exited).code).toBe(1);
  const { checks } = JSON.parse(await doctorSays());
  const journal = checks.find(({ check }: { check: string }) => check === "journal");
  expect(journal).toMatchObject({ result: "fail", todo: expect.stringContaining("kite repair && kite up") });
  expect(journal.detail).toContain(`${path} is missing`);
});

/** What `kite doctor --json` prints; it fails where a check does. */
async function doctorSays(): Promise<string> {
  try {
    return await home.kite("doctor", "--json");
  } catch (error) {
    if (error instanceof Error && "stdout" in error) return String(error.stdout);
    throw error;
  }
}
