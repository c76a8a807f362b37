/**
 * The fast ways of locks against the plain ones: two daemons get the same requests, one of them in a form that takes the
 * plain ways. Replies and trail have to be the same, field for field and in the same order.
 */
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { limits } from "../../protocol/limits.ts";
import { type Client, Home, type Message } from "./daemon.ts";

const homes: Home[] = [];
afterAll(async () => {
  for (const home of homes) await home.dispose();
});

/** One piece of text each: its lines arrive as one, and each gets one reply. `W` is the directory of the files. */
function hostilePieces(): string[][] {
  const both = (fields: string) => [`{"type":"file_lock",${fields}}`, `{"type":"file_unlock",${fields}}`];
  const file = (text: string) => both(`"id":"s1","file":${JSON.stringify(text)}`);
  const rid = (text: string) => both(`"rid":${text},"id":"s1","file":"a.ts"`);
  const id = (text: string) => both(`"id":${text},"file":"a.ts"`);
  const more = (text: string) => both(`"id":"s1","file":"a.ts",${text}`);
  const long = "x".repeat(limits.pathBytes);
  return [
    ...[
      "a.ts",
      "W/a.ts",
      "./a.ts",
      "sub/../a.ts",
      "sub//b.ts",
      "sub/./b.ts",
      "new.ts",
      "no/such/folder.ts",
    ].map(file),
    ...["link.ts", "linked/b.ts", "sub", "sub/", "sub/b.ts/", "..", ".", "a.ts/below", " ", "\ufeffa.ts"].map(
      file,
    ),
    ...[
      '"',
      "\\",
      "a\nb",
      "a\u0000b",
      "a\u001bb",
      "größe.ts",
      "gr\u006f\u0308ße.ts",
      "🪁",
      "\ud800",
      "<b>",
      "\u2028",
    ].map(file),
    ...["", "__proto__", "constructor", long, `${long}x`, "x".repeat(255), "x".repeat(256)].map(file),
    ...[
      "1",
      "0",
      "-0",
      "1.5",
      "1e400",
      "-1e400",
      "1e21",
      "null",
      "true",
      "{}",
      "[1]",
      '""',
      '"\\u0000"',
      '"é\\"\\\\"',
    ].map(rid),
    ...[`"${"x".repeat(limits.idBytes)}"`, `"${"x".repeat(limits.idBytes + 1)}"`].map(rid),
    ...["null", "1", '""', '"s\\n1"', '"\\u007f"', '"nobody"', '"é🪁"', '"__proto__"', "[]", "{}"].map(id),
    ...[`"${"y".repeat(limits.idBytes)}"`, `"${"y".repeat(limits.idBytes + 1)}"`].map(id),
    both('"id":"nobody","file":"W/a.ts"'),
    ...[
      '"files":["b.ts"]',
      '"all":true',
      '"all":false',
      '"force":true',
      '"agent":"a1"',
      '"agent":""',
      '"bind":true',
    ].map(more),
    ...['"waitMs":0', '"waitMs":-1', '"waitMs":0.5', '"project":"p"', '"project":""', '"requestId":"r1"'].map(
      more,
    ),
    ...[
      '"requestId":"r1"',
      '"__proto__":{"file":"b.ts"}',
      '"constructor":1',
      '"file":"b.ts"',
      '"type":"ping"',
    ].map(more),
    both('"file":"a.ts"'),
    both('"id":"s1"'),
    [`{"type":"file_lock"`, `{"type":"file_locks","id":"s1","file":"a.ts"}`, `["file_lock"]`, `"file_lock"`],
    [`{"id":"s1","file":"a.ts"}`, `{"type":"file_lock","id":"s1","file":{"a":[[[1]]]}}`],
    // Locked, locked again by its holder, refused to another, released, released again.
    [
      `{"type":"file_lock","rid":1,"id":"s1","file":"a.ts"}`,
      `{"type":"file_lock","rid":2,"id":"s1","file":"./a.ts"}`,
      `{"type":"file_lock","rid":3,"id":"s2","file":"a.ts","waitMs":0}`,
      `{"type":"file_unlock","rid":4,"id":"s2","file":"a.ts"}`,
      `{"type":"file_unlock","rid":5,"id":"s1","file":"W/a.ts"}`,
      `{"type":"file_unlock","rid":6,"id":"s1","file":"a.ts"}`,
    ],
    // Waited for, and granted by the unlock; the name of a link releases what was locked by it.
    [
      `{"type":"file_lock","id":"s1","file":"link.ts"}`,
      `{"type":"file_lock","id":"s2","file":"a.ts"}`,
      `{"type":"file_unlock","id":"s1","file":"link.ts"}`,
      `{"type":"file_unlock","id":"s2","file":"a.ts"}`,
    ],
    // A folder keeps others from its files, and a file from its folder.
    [
      `{"type":"file_lock","id":"s1","file":"sub"}`,
      `{"type":"file_lock","id":"s2","file":"sub/b.ts","waitMs":0}`,
      `{"type":"file_unlock","id":"s1","file":"sub"}`,
      `{"type":"file_lock","id":"s2","file":"sub/b.ts"}`,
      `{"type":"file_lock","id":"s1","file":"sub/","waitMs":0}`,
      `{"type":"file_unlock","id":"s2","file":"sub/b.ts"}`,
    ],
    // A session's agent uses a lock of its main agent, and gives it back.
    [
      `{"type":"file_lock","id":"s1","agent":"a1","file":"a.ts"}`,
      `{"type":"file_lock","id":"s1","file":"a.ts","waitMs":0}`,
      `{"type":"file_unlock","id":"s1","file":"a.ts"}`,
      `{"type":"file_unlock","id":"s1","agent":"a1","file":"a.ts"}`,
    ],
  ];
}

/** The same request with one more field, which no schema knows: then the schema decides, not the guard by hand. */
function asPlain(line: string): string {
  return line.startsWith("{") && line !== "{}" ? `{"plain":0,${line.slice(1)}` : line;
}

/** Replies to all pieces, and the trail. On the plain way somebody waits far away, so that no lock takes the lean way. */
async function told(isPlain: boolean): Promise<{ readonly replies: string[]; readonly trail: string[] }> {
  const home = new Home();
  homes.push(home);
  const daemon = await home.start();
  const { work } = home;
  for (const folder of ["sub", "far"]) mkdirSync(join(work, folder));
  for (const file of ["a.ts", "b.ts", "sub/b.ts"]) writeFileSync(join(work, file), "");
  symlinkSync("a.ts", join(work, "link.ts"));
  symlinkSync("sub", join(work, "linked"));
  const [client] = await Promise.all([home.session("s1"), home.session("s2")]);
  const [keeper, waiter] = [await home.session("keeper"), await home.session("waiter")];
  await keeper.ask({ type: "file_lock", id: "keeper", file: "/far" });
  const far = { type: "file_lock", id: "waiter", file: "/far", progress: true };
  waiter.send({ ...far, waitMs: isPlain ? limits.waitMaxMs : 0 });
  await (isPlain ? waiter.event("lock_queued") : waiter.reply());
  const replies: string[] = [];
  for (const lines of hostilePieces()) {
    const piece = lines.map(line => line.replaceAll('"W/', `"${work}/`));
    client.send(piece.map(line => `${isPlain ? asPlain(line) : line}\n`).join(""));
    replies.push(...(await repliesOf(client, lines.length, work)));
  }
  daemon.signal("SIGTERM");
  await daemon.exited;
  return { replies, trail: trailOf(home) };
}

async function repliesOf(client: Client, count: number, work: string): Promise<string[]> {
  const replies: string[] = [];
  for (let left = count; left > 0; left -= 1) replies.push(same(await client.reply(), work));
  return replies;
}

/** A reply or a line without what differs from one daemon to the next: its directory, its store, its clock. */
function same(
  { at: _at, ms: _ms, waitedMs: _waitedMs, heldMs: _heldMs, ...rest }: Message,
  work: string,
): string {
  return JSON.stringify(rest)
    .replaceAll(work, "W")
    .replaceAll(dirname(work), "ABOVE")
    .replace(/"[0-9a-f]{10}\.1\.(\d+)"/g, '"store.1.$1"');
}

function trailOf(home: Home): string[] {
  const lines = readFileSync(join(home.paths.trail, "trail-1.ndjson"), "utf8").trimEnd().split("\n");
  const isNear = ({ id }: Message) => id !== "keeper" && id !== "waiter";
  return lines
    .map((line): Message => JSON.parse(line))
    .filter(isNear)
    .map(line => same(line, home.work));
}

test("hostile requests get the same replies and the same trail by the fast ways and the plain ones", async () => {
  const [fast, plain] = [await told(false), await told(true)];
  expect(fast.replies).toEqual(plain.replies);
  expect(fast.trail).toEqual(plain.trail);
  expect(fast.replies.filter(reply => reply.includes('"ok":true')).length).toBeGreaterThan(50);
  expect(fast.trail.length).toBeGreaterThan(100);
});
