/** A daemon that is killed at any moment loses no version that it named, and finds what it had not kept yet. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inflateSync } from "node:zlib";
import { afterAll, expect, test } from "vitest";
import type { VersionRow } from "../../protocol/schemas/rescue.ts";
import { type Client, Home, type Message } from "./daemon.ts";

const home = new Home();
afterAll(() => home.dispose());

const rounds = 6;
const files = 12;

async function rowsOf(client: Client, target: string): Promise<readonly VersionRow[]> {
  const rows: VersionRow[] = [];
  for (let after: unknown; ; ) {
    const asked: Message = { type: "query", target, ...(after === undefined ? {} : { after }) };
    const reply = await client.ask(asked);
    rows.push(...(reply["rows"] as readonly VersionRow[]));
    after = reply["next"];
    if (after === undefined) return rows;
  }
}

function contentOf({ object }: VersionRow): Buffer {
  if (object === null) throw new Error("the content is gone");
  return inflateSync(readFileSync(object));
}

test("kill -9 amid writes: what was named comes back, and what was written is named after the next start", async () => {
  const dir = join(home.work, "shop");
  mkdirSync(dir);
  for (const line of ["init -q", "-c user.name=a -c user.email=a@b commit -q --allow-empty -m first"])
    execFileSync("git", line.split(" "), { cwd: dir });
  const named = new Map<string, string>();
  for (let round = 0; round < rounds; round += 1) {
    const daemon = await home.start();
    const hook = { session_id: "s1", cwd: dir, prompt_id: "p" };
    const call = (n: number) => {
      const file_path = join(dir, `file-${n}.ts`);
      const content = `round ${round}\nfile ${n}\n${"line\n".repeat(n * 50)}`;
      return { tool_name: "Write", tool_input: { file_path, content }, tool_use_id: `t-${round}-${n}` };
    };
    const client = await home.connectPerson();
    const ask = (n: number, name: string) => ({
      type: "hook",
      event: { ...hook, ...call(n), hook_event_name: name },
    });
    for (let n = 0; n < files; n += 1) {
      await client.ask(ask(n, "PreToolUse"));
      const { file_path, content } = call(n).tool_input;
      writeFileSync(file_path, content);
      await client.ask(ask(n, "PostToolUse"));
      // Of some the daemon has told that they are kept.
      if (n === round * 2)
        for (const row of await rowsOf(client, "versions")) named.set(row.version, row.hash);
    }
    await daemon.kill();
  }
  await home.start();
  const client = await home.connectPerson();
  // A question for versions waits until they are kept, but not for ever: what is read last is read when nothing waits.
  const waiting = async () => {
    await client.ask({ type: "query", target: "versions", limit: 1 });
    return (await client.ask({ type: "rescue_state" }))["waiting"];
  };
  await expect.poll(waiting).toBe(0);
  const versions = await rowsOf(client, "versions");
  for (const row of versions)
    expect(createHash("sha256").update(contentOf(row)).digest("hex"), row.version).toBe(row.hash);
  const hashes = new Map(versions.map(({ version, hash }) => [version, hash]));
  for (const [version, hash] of named) expect(hashes.get(version), version).toBe(hash);
  for (let n = 0; n < files; n += 1) {
    const path = join(dir, `file-${n}.ts`);
    const latest = versions.find(row => row.path === path);
    expect(latest === undefined ? null : contentOf(latest).toString(), path).toBe(readFileSync(path, "utf8"));
    expect(latest?.by, path).toMatchObject({ id: "s1" });
  }
  expect(await rowsOf(client, "wipes")).toEqual([]);
});
