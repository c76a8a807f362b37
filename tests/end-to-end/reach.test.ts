/** How far an agent's freezes and its locks of directories reach, on the wire and as commands. */
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Client, Home, type Message } from "./daemon.ts";
import { ended, kiteProgram } from "./kite.ts";

const home = new Home();
const [shop, blog] = [join(home.work, "shop"), join(home.work, "blog")];
const own = home.root;
let wire: Client;

function git(cwd: string, ...args: readonly string[]): void {
  const env = { ...home.environment, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null" };
  const author = ["-c", "user.name=ana", "-c", "user.email=ana@example.org"];
  execFileSync("git", [...author, ...args], { cwd, env, stdio: "ignore" });
}

function repository(folder: string): void {
  mkdirSync(join(folder, "src"), { recursive: true });
  writeFileSync(join(folder, "src", "a.ts"), "a\n");
  git(folder, "init", "-q", "-b", "main");
  git(folder, "add", "-A");
  git(folder, "commit", "-qm", "first");
}

beforeAll(async () => {
  repository(shop);
  repository(blog);
  git(shop, "worktree", "add", "-q", join(home.work, "shop-two"));
  mkdirSync(join(home.work, "notes"));
  await home.start();
  wire = await home.connectPerson();
  await home.session("ann", { cwd: shop, project: undefined });
  await home.session("bob", { cwd: blog, project: undefined });
});

afterAll(() => home.dispose());

/** Locks and unlocks; "held", or the refusal. */
async function lock(id: string, file: string, more: Message = {}): Promise<unknown> {
  const reply = await wire.ask({ type: "file_lock", id, file, waitMs: 0, ...more });
  if (reply["ok"] !== true) return `${String(reply["code"])}: ${String(reply["error"])}`;
  await wire.ask({ type: "file_unlock", id, file });
  return "held";
}

async function freeze(id: string | undefined, ...files: readonly string[]): Promise<unknown> {
  const who = id === undefined ? { project: shop } : { id };
  const hold = { files, ttlMs: 60_000 };
  const reply = await wire.ask({ type: "broadcast", ...who, message: "please wait", hold });
  if (reply["ok"] !== true) return `${String(reply["code"])}: ${String(reply["error"])}`;
  await wire.ask({ type: "resume", ...who });
  return "frozen";
}

const outside =
  /^person_only: .* is outside of your project's worktrees and your working directory: only a person /;
const wide = [
  ["/", /^person_only: \/ is the whole machine: only a person /],
  [dirname(own), /holds your user's home: only a person /],
  [own, /holds your user's home: only a person /],
  [`${home.work}/`, /where (?:a|another project's) session works: only a person /],
] as const;

describe("an agent's lock of a directory", () => {
  it.each([
    "src/",
    ".",
    "new/folder/",
    shop,
    join(home.work, "shop-two"),
    join(home.work, "shop-two", "src/"),
  ])("reaches %s, below its project's worktrees", async file => {
    expect(await lock("ann", file)).toBe("held");
  });

  it.each(["../blog/src/", "../blog", join(home.work, "notes"), join(home.work, "absent/")])(
    "does not reach %s, which is another's or nobody's",
    async file => {
      expect(await lock("ann", file)).toMatch(outside);
    },
  );

  it.each(wide)("does not reach %s", async (file, why) => {
    expect(await lock("ann", file)).toMatch(why);
    expect(await lock("ann", file)).toContain(`ask your user: kite lock ${file} -- COMMAND`);
  });

  it("is refused as a whole: no file that it names beside is locked", async () => {
    const files = ["src/a.ts", "/"];
    const reply = await wire.ask({ type: "file_lock", id: "ann", files, waitMs: 0 });
    expect(reply).toMatchObject({ ok: false, code: "person_only", file: "/", path: "/" });
    expect(await wire.ask({ type: "query", target: "locks" })).toMatchObject({ rows: [] });
    await expect.poll(() => home.kite("log")).toContain("only a person locks it");
  });

  it("leaves files alone: by its name one is locked anywhere", async () => {
    for (const file of ["../blog/src/a.ts", join(own, "x.txt"), "/no-such-file.txt"])
      expect(await lock("ann", file)).toBe("held");
  });

  it("holds worktrees of its own project within it, and none of another one", async () => {
    const inner = join(shop, ".claude", "worktrees", "three");
    git(shop, "worktree", "add", "-q", inner);
    await home.session("cyd", { cwd: inner, project: undefined });
    expect(await lock("ann", shop)).toBe("held");
    expect(await lock("cyd", shop)).toBe("held");
    repository(join(shop, "vendor", "lib"));
    const dan = await home.session("dan", { cwd: join(shop, "vendor", "lib"), project: undefined });
    for (const file of [shop, "vendor"])
      expect(await lock("ann", file)).toContain(`holds ${join(shop, "vendor", "lib")}, where another`);
    expect(await lock("ann", "src/")).toBe("held");
    await dan.ask({ type: "deregister", id: "dan" });
    expect(await lock("ann", shop)).toBe("held");
  });

  it("reaches what a session of a named project works in", async () => {
    const notes = join(home.work, "notes");
    await home.session("eve", { cwd: shop, project: "named" });
    expect(await lock("eve", notes)).toMatch(outside);
    expect(await lock("eve", join(home.work, "shop-two"))).toBe("held");
    const fay = await home.session("fay", { cwd: notes, project: "named" });
    expect(await lock("eve", notes)).toBe("held");
    for (const [client, id] of [[fay, "fay"] as const, [wire, "eve"] as const])
      await client.ask({ type: "deregister", id });
  });

  it("is denied with the session that works below, another's before one's own", async () => {
    const above = join(home.work, "above");
    repository(join(above, "one"));
    const jon = await home.session("jon", { cwd: join(above, "one"), project: undefined });
    expect(await lock("jon", above)).toContain(`holds ${join(above, "one")}, where you work: `);
    repository(join(above, "two"));
    const kim = await home.session("kim", { cwd: join(above, "two"), project: undefined });
    const foreign = (name: string) => `holds ${join(above, name)}, where another project's session works: `;
    expect(await lock("jon", above)).toContain(foreign("two"));
    expect(await lock("kim", above)).toContain(foreign("one"));
    for (const [client, id] of [[jon, "jon"] as const, [kim, "kim"] as const])
      await client.ask({ type: "deregister", id });
  });

  it("holds no repository within it in which one works, whose session that may be", async () => {
    const inner = join(shop, "vendor", "sub");
    repository(inner);
    const gus = await home.session("gus", { cwd: shop, project: "named" });
    const hal = await home.session("hal", { cwd: inner, project: "named" });
    expect(await lock("hal", shop)).toMatch(/^person_only: .* holds .*\/sub, where you work: only a person /);
    expect(await lock("gus", ".")).toContain(`holds ${inner}, where another session of your project works: `);
    expect(await lock("ann", shop)).toContain(`holds ${inner}, where another project's session works: `);
    expect(await lock("plain", shop)).toContain(`holds ${inner}, where a session works: `);
    const ida = await home.session("ida", { cwd: inner, project: undefined });
    expect(await lock("hal", shop)).toContain(`holds ${inner}, where another project's session works: `);
    for (const [client, id] of [[gus, "gus"] as const, [hal, "hal"] as const, [ida, "ida"] as const])
      await client.ask({ type: "deregister", id });
  });
});

describe("a client without a session", () => {
  it("locks project directories, and none that holds a session of a project", async () => {
    for (const file of [shop, join(shop, "src/"), blog, join(home.work, "notes")])
      expect(await lock("plain", file)).toBe("held");
    for (const [file, why] of wide) expect(await lock("plain", file)).toMatch(why);
  });

  it("locks any directory if it says that a person asks", async () => {
    for (const file of ["/", own, home.work])
      expect(await lock("plain", file, { byPerson: true })).toBe("held");
  });
});

describe("a freeze", () => {
  it("of an agent stays below its project's worktrees, also of a single file", async () => {
    for (const file of ["src/", "src/a.ts", shop, join(home.work, "shop-two", "b.ts")])
      expect(await freeze("ann", file)).toBe("frozen");
    for (const file of [join(blog, "src", "a.ts"), blog, "/no-such-file.txt"])
      expect(await freeze("ann", "src/", file)).toMatch(outside);
    for (const [file, why] of wide) {
      expect(await freeze("ann", file)).toMatch(why);
      expect(await freeze("ann", file)).toContain(`ask your user: kite freeze ${file}`);
    }
  });

  it("of a person reaches everything", async () => {
    for (const file of ["/", own, blog]) expect(await freeze(undefined, file)).toBe("frozen");
  });
});

describe("the commands", () => {
  /** A command in the shop, as a process: what it holds files for is one, too. */
  const run = (args: readonly string[], env: Record<string, string> = {}) =>
    ended(home.startKite(args, env, shop));
  const agents: Readonly<Record<string, Record<string, string>>> = {
    "with its session's name": { KITE_SESSION: "ann" },
    "without its name": { CLAUDECODE: "1" },
  };

  it.each(Object.entries(agents))("are an agent's in its shell, %s", async (_, env) => {
    const denied = await run(["lock", "/", "--", "true"], env);
    expect(denied).toMatchObject({ code: 75, err: expect.stringContaining("only a person locks it") });
    const froze = await run(["freeze", "/"], env);
    expect(froze).toMatchObject({ code: 1, err: expect.stringContaining("only a person") });
    expect(await run(["lock", "src/", "--", "true"], env)).toMatchObject({ code: 0, err: "" });
  });

  it("are a person's at a terminal, and below a person's lock", async () => {
    expect(await run(["lock", "/", "--", "true"])).toMatchObject({ code: 0, err: "" });
    const inner = [process.execPath, kiteProgram, "lock", `${blog}/`, "--", "echo", "ran"];
    expect(await run(["lock", "src/", "--", ...inner])).toMatchObject({ code: 0, out: "ran\n" });
    expect((await run(["freeze", "/"])).out).toContain("freezes /");
    expect((await run(["thaw"])).out).toContain("ended");
  });

  it("end a freeze by a file: an agent its own, a person anybody's", async () => {
    const ann = { KITE_SESSION: "ann" };
    expect(await run(["freeze", "src/"], ann)).toMatchObject({ code: 0 });
    const other = await run(["thaw", "blog.ts"], ann);
    expect(other).toMatchObject({ code: 1, err: expect.stringContaining("no freeze of yours is over") });
    expect((await run(["thaw", "src/a.ts"], ann)).out).toMatch(/^h-\w+ ended\n$/);
    expect(await run(["freeze", "src/"], ann)).toMatchObject({ code: 0 });
    expect((await run(["thaw", "src/"])).out).toMatch(/^h-\w+ ended\n$/);
    expect((await run(["freeze"])).out).not.toContain("src/");
  });
});
