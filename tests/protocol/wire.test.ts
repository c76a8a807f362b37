import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { limits } from "../../protocol/limits.ts";
import { encodeLine, type Line, LineDecoder, nestingWithin } from "../../protocol/wire.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

function decode(chunks: Iterable<Buffer>, decoder = new LineDecoder()): Line[] {
  return [...chunks].flatMap(chunk => decoder.push(chunk));
}

describe("a message split anywhere", () => {
  const message = { type: "register", id: "s1", cwd: "/tmp/größe/漢字/🪁", name: "a\nb\u0000" };
  const bytes = Buffer.from(encodeLine(message));

  it("arrives the same when cut in two at every byte, inside of a character too", () => {
    for (let cut = 0; cut <= bytes.length; cut++) {
      const lines = decode([bytes.subarray(0, cut), bytes.subarray(cut)]);
      expect(lines, `cut at ${cut}`).toEqual([{ text: encodeLine(message).trimEnd() }]);
    }
  });

  it("arrives the same byte by byte", () => {
    const lines = decode(Array.from(bytes, byte => Buffer.from([byte])));
    expect(lines).toEqual([{ text: JSON.stringify(message) }]);
  });

  it("and any messages, cut anywhere, arrive in order", () => {
    const messages = fc.array(fc.dictionary(fc.string(), fc.string({ unit: "binary" })), { maxLength: 8 });
    fc.assert(
      fc.property(messages, fc.array(fc.nat()), (sent, cuts) => {
        const all = Buffer.from(sent.map(encodeLine).join(""));
        const places = [0, ...cuts.map(cut => cut % (all.length + 1)).sort((a, b) => a - b), all.length];
        const chunks = places.slice(1).map((end, i) => all.subarray(places[i], end));
        const got = decode(chunks).map(line => ("text" in line ? JSON.parse(line.text) : line));
        expect(got).toEqual(sent.map(m => JSON.parse(JSON.stringify(m))));
      }),
    );
  });
});

describe("lines", () => {
  it("several in one chunk come in order, blank ones not at all", () => {
    expect(decode([Buffer.from('{"a":1}\n\n  \r\n{"b":2}\n{"c"')])).toEqual([
      { text: '{"a":1}' },
      { text: '{"b":2}' },
    ]);
  });

  it("a chunk that is reused by its sender after push may not change a line that is complete", () => {
    const chunk = Buffer.from('{"a":1}\n');
    const lines = new LineDecoder().push(chunk);
    chunk.fill(0);
    expect(lines).toEqual([{ text: '{"a":1}' }]);
  });

  it("bytes that are no UTF-8 are a fault of their line alone", () => {
    const bad = Buffer.concat([
      Buffer.from('{"a":"'),
      Buffer.from([0xff, 0xfe]),
      Buffer.from('"}\n{"b":2}\n'),
    ]);
    expect(decode([bad])).toEqual([{ fault: "invalid_utf8" }, { text: '{"b":2}' }]);
  });

  it("come out the same from whole chunks as byte by byte, whatever bytes arrive", () => {
    const pieces = fc.constantFrom(
      ...[
        "{",
        "}",
        '"',
        "a",
        " ",
        "\t",
        "\r",
        "\n",
        "\n\n",
        "\ufeff",
        "\u2028",
        "\u00a0",
        "é",
        "🪁",
        "\0",
      ].map(text => Buffer.from(text)),
      ...['{"type":"hook"', '{"a":1}\n', "x".repeat(12), " \n"].map(text => Buffer.from(text)),
      Buffer.from([0xff]),
      Buffer.from([0xc3]),
      Buffer.from([0xed, 0xa0, 0x80]),
    );
    fc.assert(
      fc.property(
        fc.array(pieces, { maxLength: 60 }),
        fc.array(fc.nat(), { maxLength: 5 }),
        (parts, cuts) => {
          const all = Buffer.concat(parts);
          const places = [0, ...cuts.map(cut => cut % (all.length + 1)).sort((a, b) => a - b), all.length];
          const chunks = places.slice(1).map((end, i) => all.subarray(places[i], end));
          const [fast, plain] = [new LineDecoder(16, 32), new LineDecoder(16, 32)];
          const lines = decode(chunks, fast);
          expect(lines).toEqual(
            decode(
              Array.from(all, byte => Buffer.from([byte])),
              plain,
            ),
          );
          expect(fast.unfinishedBytes).toBe(plain.unfinishedBytes);
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it("half a character at a line's end is a fault, not half of the next line", () => {
    const half = Buffer.from("é").subarray(0, 1);
    expect(decode([half, Buffer.from('\n{"b":2}\n')])).toEqual([
      { fault: "invalid_utf8" },
      { text: '{"b":2}' },
    ]);
  });
});

describe("an over-long line", () => {
  it("is reported once, thrown away to its newline, and the next one is served", () => {
    const decoder = new LineDecoder(10, 20);
    const long = `{"x":"${"y".repeat(50)}"}`;
    for (let cut = 1; cut < long.length; cut++) {
      const chunks = [long.slice(0, cut), long.slice(cut), "\n", '{"b":2}\n'].map(text => Buffer.from(text));
      expect(decode(chunks, decoder)).toEqual([{ fault: "line_too_long" }, { text: '{"b":2}' }]);
    }
  });

  it("is one byte longer than the bound, and not one byte shorter", () => {
    const at = `"${"x".repeat(limits.lineBytes - 2)}"`;
    expect(decode([Buffer.from(`${at}\n`)])).toEqual([{ text: at }]);
    expect(decode([Buffer.from(`${at} \n`)])).toEqual([{ fault: "line_too_long" }]);
  });

  it("has the wider bound where it begins as a hook, however it is cut", () => {
    const hook = `{"type":"hook","event":{"x":"${"y".repeat(100)}"}}`;
    for (let cut = 0; cut < hook.length; cut++) {
      const chunks = [hook.slice(0, cut), `${hook.slice(cut)}\n`].map(text => Buffer.from(text));
      const [enough, tooLittle] = [new LineDecoder(20, hook.length), new LineDecoder(20, hook.length - 1)];
      expect(decode(chunks, enough), `cut at ${cut}`).toEqual([{ text: hook }]);
      expect(decode(chunks, tooLittle), `cut at ${cut}`).toEqual([{ fault: "line_too_long" }]);
    }
  });

  it("may be thrown away from outside, as when all connections together hold too much", () => {
    const decoder = new LineDecoder();
    decoder.push(Buffer.from('{"a":'));
    expect(decoder.unfinishedBytes).toBe(5);
    decoder.discard();
    expect(decoder.unfinishedBytes).toBe(0);
    expect(decoder.push(Buffer.from('1}\n{"b":2}\n'))).toEqual([{ text: '{"b":2}' }]);
  });
});

describe("100 MB without a newline", () => {
  const chunk = Buffer.alloc(64 * 1024, 0x78);
  const chunks = (megabytes: number) => Array.from({ length: megabytes * 16 }, () => chunk);

  /** Bytes looked at for a newline, and bytes copied, while the chunks and then a newline are pushed. */
  function work(megabytes: number, decoder: LineDecoder) {
    let searched = 0;
    let copied = 0;
    const indexOf = Buffer.prototype.indexOf;
    const concat = Buffer.concat;
    vi.spyOn(Buffer.prototype, "indexOf").mockImplementation(function (this: Buffer, ...args) {
      const found = Reflect.apply(indexOf, this, args) as number;
      searched += (found === -1 ? this.length : found + 1) - (typeof args[1] === "number" ? args[1] : 0);
      return found;
    });
    vi.spyOn(Buffer, "concat").mockImplementation((list, length) => {
      for (const part of list) copied += part.length;
      return concat(list, length);
    });
    const lines = decode([...chunks(megabytes), Buffer.from('\n{"b":2}\n')], decoder);
    vi.restoreAllMocks();
    return { searched, copied, lines };
  }

  it("costs a look at each byte, once, and no copy", () => {
    const { searched, copied, lines } = work(100, new LineDecoder());
    expect(lines).toEqual([{ fault: "line_too_long" }, { text: '{"b":2}' }]);
    expect(searched).toBe(100 * 1024 * 1024 + '\n{"b":2}\n'.length);
    expect(copied).toBe(0);
  });

  it("costs one copy where so long a line is allowed", () => {
    const size = 100 * 1024 * 1024;
    const { searched, copied, lines } = work(100, new LineDecoder(2 * size, 2 * size));
    expect(lines.map(line => ("text" in line ? line.text.length : 0))).toEqual([size, 7]);
    expect(searched).toBe(size + '\n{"b":2}\n'.length);
    expect(copied).toBe(size);
  });

  it("keeps nothing of what it throws away", () => {
    const decoder = new LineDecoder();
    decode(chunks(100), decoder);
    expect(decoder.unfinishedBytes).toBe(0);
  });
});

describe("nesting", () => {
  const nested = (depth: number): unknown => JSON.parse(`${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`);

  it("counts the outermost, and says no to one more", () => {
    expect(nestingWithin(nested(limits.nestingMax), limits.nestingMax)).toBe(true);
    expect(nestingWithin(nested(limits.nestingMax + 1), limits.nestingMax)).toBe(false);
    expect(nestingWithin(JSON.parse("[[[1]]]"), 3)).toBe(true);
    expect(nestingWithin(JSON.parse("[[[[]]]]"), 3)).toBe(false);
  });

  it("looks at all branches, and lets plain values be", () => {
    expect(nestingWithin(JSON.parse('{"a":1,"b":[{"c":[1]}]}'), 3)).toBe(false);
    expect(nestingWithin(JSON.parse('{"a":1,"b":[{"c":[1]}]}'), 4)).toBe(true);
    for (const plain of [null, 1, "x", true, undefined]) expect(nestingWithin(plain, 0)).toBe(true);
  });

  it("goes no deeper than asked, so that no depth can overflow the stack", () => {
    let deep: unknown = 1;
    for (let i = 0; i < 1_000_000; i++) deep = [deep];
    expect(nestingWithin(deep, limits.nestingMax)).toBe(false);
  });
});

describe("__proto__", () => {
  const text = '{"type":"ping","__proto__":{"polluted":true}}';

  it("is a key like any other, there and back", () => {
    const [line] = decode([Buffer.from(`${text}\n`)]);
    const message: unknown = JSON.parse(line !== undefined && "text" in line ? line.text : "");
    expect(Object.keys(message as object)).toEqual(["type", "__proto__"]);
    expect(encodeLine(message as object)).toBe(`${text}\n`);
    expect(Object.prototype).not.toHaveProperty("polluted");
  });

  it("is looked into for its nesting", () => {
    expect(nestingWithin(JSON.parse('{"__proto__":{"a":{"b":1}}}'), 2)).toBe(false);
  });
});

it("encodes one line, whatever is in a string", () => {
  const line = encodeLine({ text: "a\nb\u2028c\r" });
  expect(line.indexOf("\n")).toBe(line.length - 1);
});

it("holds a line that comes byte by byte in a few buffers, not in one a byte", () => {
  const decoder = new LineDecoder();
  const line = Buffer.from(`{"type":"ping","x":"${"y".repeat(200_000)}"}\n`);
  for (const byte of line.subarray(0, -1)) decoder.push(Buffer.from([byte]));
  expect(decoder.unfinishedBytes).toBe(line.length - 1);
  expect(decoder.pieces).toBeLessThan(32);
  expect(decoder.push(line.subarray(-1))).toEqual([{ text: line.toString().trimEnd() }]);
});
