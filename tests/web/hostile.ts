/** Texts that want to be more than text. */
export const hostile = {
  markup: `<img src=x onerror="document.title='caught'"><script>document.title='caught'</script>&lt;b&gt;`,
  /** What turns the text behind it round. */
  turned: "\u202egnp.exe\u2066 \u200b",
  long: "w".repeat(8_000),
  emoji: "👩‍👩‍👧‍👦🇩🇪 漢字 e\u0301\u0301\u0301\u0301\u0301\u0301\u0301",
} as const;
