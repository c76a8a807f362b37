/** Branches of two machines that changed one file, over one real PostgreSQL and with real commits. */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { withServer } from "../journal/postgres-world.ts";
import type { Client } from "./daemon.ts";
import { database, Machine } from "./store-machine.ts";

const patient = { timeout: 60_000 };

/** A machine whose clone is on a branch. */
async function machineOn(branch: string): Promise<Machine> {
  const machine = new Machine();
  git(machine, "commit", "--allow-empty", "-m", "first");
  git(machine, "checkout", "-b", branch);
  return machine.start();
}

async function agent({ home, repo }: Machine, id: string): Promise<Client> {
  const client = await home.connect();
  await client.ask({ type: "register", id, cwd: repo, name: id });
  return client;
}

function git({ repo, home }: Machine, ...args: string[]): void {
  const env = { PATH: process.env["PATH"] ?? "", HOME: home.work, GIT_CONFIG_NOSYSTEM: "1" };
  const named = ["-c", "user.name=t", "-c", "user.email=t@example.org", ...args];
  execFileSync("git", named, { cwd: repo, env, stdio: "pipe" });
}

function commit(machine: Machine, name: string, text: string): void {
  writeFileSync(join(machine.repo, name), text);
  git(machine, "add", "-A");
  git(machine, "commit", "-m", "work");
}

/** What the agent reads with its next prompt. */
async function prompted(client: Client, { repo }: Machine, id: string): Promise<string> {
  const event = { hook_event_name: "UserPromptSubmit", prompt: "go on" };
  const place = { session_id: id, cwd: repo, permission_mode: "default", transcript_path: "/dev/null" };
  return JSON.stringify(
    await client.ask({ type: "hook", client: "claude-code", event: { ...place, ...event } }),
  );
}

await withServer("the same file over a store", server => {
  it("is shown on both machines and told to both agents, until one side has it no more", {
    timeout: 240_000,
  }, async () => {
    const url = await database(server);
    const [a, b] = [await machineOn("paging"), await machineOn("login")];
    for (const machine of [a, b]) await machine.kite("store", "join", url, "--yes");
    const [alice, bob] = [await agent(a, "alice"), await agent(b, "bob")];
    commit(a, "prices.ts", "one");
    commit(b, "prices.ts", "two");
    await prompted(alice, a, "alice");
    await prompted(bob, b, "bob");
    const row = (own: string, other: string) => new RegExp(`Same file: .*\\n +prices\\.ts +${own} +${other}`);
    await expect
      .poll(() => a.kite("status"), patient)
      .toMatch(row("alice \\(paging\\)", "bob@.* \\(login\\)"));
    await expect
      .poll(() => b.kite("status"), patient)
      .toMatch(row("bob \\(login\\)", "alice@.* \\(paging\\)"));
    const { sameFiles } = (await a.json("status")) as unknown as { readonly sameFiles: readonly unknown[] };
    expect(sameFiles).toMatchObject([{ file: "prices.ts", project: a.repo }]);
    await expect.poll(() => prompted(alice, a, "alice"), patient).toContain("the same file");
    expect(await prompted(alice, a, "alice")).not.toContain("the same file");
    // Bob's branch comes to the same content.
    commit(b, "prices.ts", "one");
    await prompted(bob, b, "bob");
    await expect.poll(() => a.kite("status"), patient).not.toContain("Same file");
  });
});
