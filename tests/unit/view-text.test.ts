import { describe, expect, it } from "vitest";
import {
  bound,
  bytes,
  clean,
  clock,
  counted,
  cut,
  duration,
  pad,
  paint,
  precise,
  table,
  unpainted,
  wantsColor,
  widthOf,
  wrap,
} from "../../bin/view/text.ts";
import { now } from "./view-rows.ts";

describe("clean", () => {
  it.each([
    ["plain text", "plain text"],
    ["two\nlines\r\nand\ttabs", "two lines and tabs"],
    ["\u001b[31mred\u001b[0m", "[31mred [0m"],
    ["\u009b2Jcleared\u0000", "2Jcleared"],
    ["abc\u202edef\u2066ghi", "abcdefghi"],
    ["in\u200bvis\u200di\ufeffble\u00ad", "invisible"],
    ["tag\u{e0041}\u{e007f}s", "tags"],
    ["line\u2028and\u2029paragraph", "line and paragraph"],
    ["half \ud800 pair", "half  pair"],
    [`z${"\u0300".repeat(50)}`, `z${"\u0300".repeat(3)}`],
    ["日本語 café 🙂", "日本語 café 🙂"],
  ])("%j becomes %j", (given, shown) => {
    expect(clean(given)).toBe(shown);
  });
});

describe("widths", () => {
  it.each([
    ["", 0],
    ["abc", 3],
    ["café", 4],
    ["cafe\u0301", 4],
    ["日本語", 6],
    ["ｆｕｌｌ", 8],
    ["한국어", 6],
    ["🙂", 2],
    ["└ …·", 4],
  ])("%j takes %i columns", (given, width) => {
    expect(widthOf(given)).toBe(width);
  });

  it("cuts at the end or the start, never within a wide character", () => {
    expect(cut("abcdef", 6)).toBe("abcdef");
    expect(cut("abcdef", 4)).toBe("abc…");
    expect(cut("abcdef", 4, "start")).toBe("…def");
    expect(cut("日本語", 4)).toBe("日…");
    expect(cut("日本語", 5)).toBe("日本…");
    expect(cut("日本語", 4, "start")).toBe("…語");
    expect(cut("abc", 1)).toBe("…");
    expect(cut("abc", 0)).toBe("");
  });

  it("pads by columns", () => {
    expect(pad("日本", 6)).toBe("日本  ");
    expect(pad("7", 3, "right")).toBe("  7");
    expect(pad("long", 2)).toBe("long");
  });

  it("wraps between words, keeps bound ones together and cuts those that are too long", () => {
    expect(wrap("one two three four", 9)).toEqual(["one two", "three", "four"]);
    expect(wrap("one two three four", 9, 2)).toEqual(["one two", "  three", "  four"]);
    expect(wrap(`a ${bound("b c d")} e`, 6)).toEqual(["a", "b c d", "e"]);
    expect(wrap("incomprehensible no", 8, 2)).toEqual(["incompr…", "  no"]);
    expect(wrap("", 8)).toEqual([""]);
  });
});

describe("durations, sizes, times", () => {
  it.each([
    [-5, "0s"],
    [0, "0s"],
    [999, "0s"],
    [59_999, "59s"],
    [60_000, "1m"],
    [3_599_999, "59m"],
    [3_600_000, "1h"],
    [3_900_000, "1h 5m"],
    [86_400_000, "1d"],
    [93_600_000, "1d 2h"],
  ])("%i ms is %s", (ms, shown) => {
    expect(duration(ms)).toBe(shown);
  });

  it.each([
    [0.4, "0ms"],
    [999, "999ms"],
    [1_000, "1s"],
    [4_290, "4.2s"],
    [9_999, "9.9s"],
    [10_000, "10s"],
    [90_000, "1m"],
  ])("%d ms is precisely %s", (ms, shown) => expect(precise(ms)).toBe(shown));

  it.each([
    [0, "0 B"],
    [1023, "1023 B"],
    [1024, "1 KiB"],
    [1536, "1.5 KiB"],
    [12 * 1024 * 1024, "12 MiB"],
    [3 * 1024 ** 4, "3 TiB"],
    [5000 * 1024 ** 4, "5000 TiB"],
  ])("%i bytes are %s", (count, shown) => {
    expect(bytes(count)).toBe(shown);
  });

  it("names the day only where it is another one", () => {
    expect(clock(now - 60_000, now)).toBe("13:59:00");
    expect(clock(now - 86_400_000, now)).toBe("May 19 14:00:00");
  });

  it("counts", () => {
    expect(counted(1, "lock")).toBe("1 lock");
    expect(counted(0, "lock")).toBe("0 locks");
  });
});

describe("colour", () => {
  it.each([
    [{}, true, true],
    [{}, false, false],
    [{ NO_COLOR: "1" }, true, false],
    [{ NO_COLOR: "" }, true, true],
    [{ TERM: "dumb" }, true, false],
    [{ FORCE_COLOR: "1" }, false, true],
    [{ FORCE_COLOR: "" }, false, true],
    [{ FORCE_COLOR: "0" }, true, false],
    [{ FORCE_COLOR: "1", NO_COLOR: "1" }, false, true],
  ])("%j, terminal %s: %s", (env, isTerminal, wanted) => {
    expect(wantsColor(env, isTerminal)).toBe(wanted);
  });

  it("is put on and taken off", () => {
    const red = paint({ color: true }, "red", "stop");
    expect(red).toBe("\u001b[31mstop\u001b[0m");
    expect(unpainted(red)).toBe("stop");
    expect(paint({ color: false }, "red", "stop")).toBe("stop");
    expect(paint({ color: true }, "plain", "stop")).toBe("stop");
  });
});

describe("table", () => {
  const rows = [
    ["src/auth.ts", "alice", "", "12s"],
    ["a", "bob", "", "5m"],
  ];
  const columns = [{ min: 4, cut: "start" as const }, { min: 3 }, {}, { align: "right" as const }];

  it("gives each column the width of its widest cell and leaves empty ones out", () => {
    expect(table(rows, columns, { width: 80, color: false })).toEqual([
      "src/auth.ts  alice  12s",
      "a            bob     5m",
    ]);
  });

  it("takes from the widest column first, then from the last ones", () => {
    expect(table(rows, columns, { width: 18, color: false })).toEqual([
      "…th.ts  alice  12s",
      "a       bob     5m",
    ]);
    expect(table(rows, columns, { width: 10, color: false })[0]).toBe("….ts  al…");
  });

  it("indents, and has no blanks at the end of a line", () => {
    expect(table([["a", "b"], ["long"]], [{}, {}], { width: 80, color: false }, 2)).toEqual([
      "  a     b",
      "  long",
    ]);
  });
});
