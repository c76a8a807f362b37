/** What is kept of a file, what never is, and the queue of writes. */
import { describe, expect, test } from "vitest";
import {
  type FileToKeep,
  type KeepOutcome,
  KeepQueue,
  secretCharsMax,
  secretIn,
  unkeptByName,
} from "../../daemon/rescue/keep.ts";
import { differenceOf, lineCounts } from "../../daemon/rescue/versions.ts";
import { limits } from "../../protocol/limits.ts";

describe("what is never kept by its name", () => {
  const secret = [
    ...[".env", ".env.local", ".envrc", "web/.env.production", "certs/site.pem", "a/b/server.key", "id_rsa"],
    ...["deploy/id_ed25519.pub", ".netrc", ".npmrc", ".pgpass", "aws-credentials", "my_Credential.json"],
    ...["SECRETS.yaml", "client_secret.json", "prod.tfstate", "prod.tfstate.backup", "prod.auto.tfvars"],
    ...[
      ".ssh/config",
      "home/.aws/config",
      ".gnupg/x",
      "ops/.kube/config",
      ".docker/config.json",
      ".SSH/known",
    ],
    ...[".git/config", "node_modules/a/index.js"],
  ];
  test.each(secret)("%s", file => {
    expect(unkeptByName(`/home/ana/shop/${file}`, file)).not.toBeNull();
  });

  const plain = [
    "src/auth.ts",
    "environment.ts",
    "keys.ts",
    "idea.md",
    "docs/env",
    "tfstate.md",
    "src/.gitignore",
  ];
  test.each(plain)("but not %s", file => {
    expect(unkeptByName(`/home/ana/shop/${file}`, file)).toBeNull();
  });

  test("counts the folders above the worktree, and the person's own list", () => {
    expect(unkeptByName("/home/ana/.ssh/notes/a.md", "a.md")).toContain(".ssh");
    expect(unkeptByName("/w/data.sqlite", "data.sqlite", file => file.endsWith(".sqlite"))).toContain(
      "rescueNever",
    );
  });
});

describe("what is never kept by its content", () => {
  const secrets: readonly (readonly [string, string])[] = [
    ["an OpenSSH key", "-----BEGIN OPENSSH PRIVATE KEY-----\nabc"],
    ["an RSA key in code", 'const key = "-----BEGIN RSA PRIVATE KEY-----\\nMIIE"'],
    ["a PGP key", "-----BEGIN PGP PRIVATE KEY BLOCK-----"],
    ["a plain key", "-----BEGIN PRIVATE KEY-----"],
    ["AWS", `id = AKIA${"Q".repeat(16)}`],
    ["GitHub", `ghp_${"a1".repeat(18)}`],
    ["GitHub, fine", `github_pat_${"a1".repeat(20)}`],
    ["GitLab", `glpat-${"x".repeat(20)}`],
    ["Slack", "xoxb-1234567890-abc"],
    ["Stripe", `sk_live_${"a".repeat(24)}`],
    ["Google", `AIza${"b".repeat(35)}`],
    ["npm", `//registry/:_authToken=npm_${"c".repeat(36)}`],
    ["a model's service", `sk-ant-api03-${"d".repeat(40)}`],
    ["another one", `sk-proj-${"e".repeat(48)}`],
    ["PyPI", `pypi-AgEIcHlwaS5vcmc${"f".repeat(40)}`],
    ["a web token", `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.${"g".repeat(43)}`],
  ];
  test.each(secrets)("%s", (_, text) => {
    expect(secretIn(Buffer.from(`before\n${text}\nafter\n`))).not.toBeNull();
    // As some programs of other systems write it.
    expect(secretIn(Buffer.from(text, "utf16le"))).not.toBeNull();
    expect(Buffer.byteLength(text)).toBeLessThan(secretCharsMax);
  });

  const plain = [
    "a PUBLIC KEY: -----BEGIN PUBLIC KEY-----",
    "const pattern = /-----BEGIN .* PRIVATE KEY/",
    "AKIA is the beginning",
    "task-sk-and-others, risk-free",
    "function ghp_(x) {}",
    "eyJ is how they begin",
  ];
  test.each(plain)("but not: %s", text => {
    expect(secretIn(Buffer.from(text))).toBeNull();
  });
});

describe("lines added and taken", () => {
  const cases: readonly (readonly [string, string, string, number, number])[] = [
    ["a line more", "a\nc\n", "a\nb\nc\n", 1, 0],
    ["a line less", "a\nb\nc\n", "a\nc\n", 0, 1],
    ["a line changed", "a\nb\nc\n", "a\nx\nc\n", 1, 1],
    ["a line that is longer now", "a\nc\n", "a\nbc\n", 1, 1],
    ["an end of the last line", "a\nb", "a\nb\n", 0, 0],
    ["a line behind one without an end", "a\nb", "a\nb\nc", 1, 0],
    ["a new file", "", "a\nb\n", 2, 0],
    ["an emptied file", "a\nb\n", "", 0, 2],
    ["the same", "a\n", "a\n", 0, 0],
    ["two places", "a\nb\nc\nd\ne\n", "x\nb\nc\nd\ny\n", 2, 2],
    ["a repeated line", "a\na\nb\n", "a\na\na\nb\n", 1, 0],
  ];
  test.each(cases)("%s", (_, before, after, added, taken) => {
    expect(lineCounts(Buffer.from(before), Buffer.from(after))).toEqual({ added, taken });
  });

  test("are not counted of what is no text", () => {
    expect(lineCounts(Buffer.from("a\n"), Buffer.from([0x61, 0, 0x62]))).toBeNull();
  });

  test("count long parts in any order, and equal ends of any length", () => {
    const many = Array.from({ length: 1_000 }, (_, i) => `line ${i}`);
    const [before, after] = [["first", ...many].join("\n"), [...many, "last"].join("\n")];
    expect(many.length ** 2).toBeGreaterThan(limits.rescueDiffCells);
    expect(lineCounts(Buffer.from(before), Buffer.from(after))).toEqual({ added: 1, taken: 1 });
    const [start, end] = ["s".repeat(10_000), "e".repeat(9_999)];
    expect(differenceOf(Buffer.from(`${start}12${end}`), Buffer.from(`${start}345${end}`))).toEqual({
      start: 10_000,
      endBefore: 10_002,
      endAfter: 10_003,
    });
  });
});

/** A keeper that notes what it is asked, and answers when the test says so. */
class Notes {
  readonly kept: string[] = [];
  readonly missed: string[] = [];
  readonly written = new Set<string>();
  readonly #answers: ((outcome: KeepOutcome) => void)[] = [];
  readonly queue = new KeepQueue({
    keeper: {
      keep: async (asked, isOvertaken) => {
        const outcome = await new Promise<KeepOutcome>(resolve => void this.#answers.push(resolve));
        const how = isOvertaken(asked.atMs + 1) && asked.text !== null ? "sent" : "read";
        this.kept.push(`${how} ${asked.path} ${asked.atMs}`);
        return outcome;
      },
      keepSent: async asked => {
        this.kept.push(`sent ${asked.path} ${asked.atMs}`);
        return { is: "nothing" };
      },
    },
    isWritten: ({ key }) => this.written.has(key),
    onMissed: ({ path }, why) => this.missed.push(`${path}: ${why}`),
  });

  /** Lets the oldest read end. */
  async answer(outcome: KeepOutcome = { is: "nothing" }): Promise<void> {
    this.#answers.shift()?.(outcome);
    await new Promise<void>(resolve => setImmediate(resolve));
  }
}

function write(path: string, atMs: number, text: string | null = null): FileToKeep {
  const sent = text === null ? null : { chars: text.length, text: () => text };
  const rest = { by: null, tool: "Write", kind: "write", isEdit: true, session: null } as const;
  return { path, key: path, atMs, text: sent, ...rest };
}

describe("the queue of writes", () => {
  test("reads two files at once, and keeps the writes of one file in their order", async () => {
    const notes = new Notes();
    for (const path of ["a", "b", "c"]) notes.queue.add(write(path, 1));
    expect(notes.queue.size).toBe(3);
    for (let i = 0; i < 3; i += 1) await notes.answer();
    expect(notes.kept).toEqual(["read a 1", "read b 1", "read c 1"]);
    expect(notes.queue.size).toBe(0);
    await notes.queue.settled();
  });

  test("keeps the text of a write that another one overtook before it was read", async () => {
    const notes = new Notes();
    notes.queue.add(write("a", 1, "one"));
    // The first is being read.
    notes.queue.add(write("a", 2, "two"));
    notes.queue.add(write("a", 3));
    notes.queue.add(write("a", 4, "four"));
    await notes.answer();
    await notes.answer();
    // Of the third nobody knows the text: the fourth has what it changed.
    expect(notes.kept).toEqual(["sent a 1", "sent a 2", "read a 4"]);
  });

  test("keeps the text where another write is under way and has changed the file", async () => {
    const notes = new Notes();
    notes.written.add("a");
    notes.queue.add(write("a", 1, "one"));
    await notes.answer();
    expect(notes.kept).toEqual(["sent a 1"]);
  });

  test("has bounds: the oldest write is missed, and texts that take too much room are forgotten", async () => {
    const notes = new Notes();
    for (let n = 0; n < limits.rescueQueueMax + 5; n += 1) notes.queue.add(write(`${n}`, n));
    // Two of them are being read.
    expect(notes.queue.missed).toBe(3);
    expect(notes.missed[0]).toBe("2: too many writes wait to be kept");
    const other = new Notes();
    const long = { chars: limits.rescueQueueBytes, text: () => "long" };
    other.queue.add(write("x", 1));
    other.queue.add(write("y", 1));
    other.queue.add({ ...write("a", 1), text: long });
    other.queue.add(write("b", 1, "short"));
    other.written.add("a");
    other.written.add("b");
    for (let i = 0; i < 4; i += 1) await other.answer();
    expect(other.kept.slice(2)).toEqual(["sent a 1", "read b 1"]);
  });

  test("counts what should have been kept and was not", async () => {
    const notes = new Notes();
    notes.queue.add(write("a", 1));
    await notes.answer({ is: "missed", why: "the disk is full" });
    expect(notes.missed).toEqual(["a: the disk is full"]);
    expect(notes.queue.missed).toBe(1);
  });

  test("takes nothing more when it is closed", async () => {
    const notes = new Notes();
    await notes.queue.close();
    notes.queue.add(write("a", 1));
    expect(notes.queue.size).toBe(0);
  });
});
