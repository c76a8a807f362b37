import { Turns } from "./commands.ts";
import { MemoryJournal, memoryStore } from "./memory-journal.ts";
import { journalSuite } from "./suite.ts";

journalSuite("the memory journal", () => {
  const store = memoryStore();
  const turns = new Turns();
  return {
    start: () => {
      turns.forget();
      return new MemoryJournal(store, turns.soon);
    },
    settle: () => turns.settle(),
  };
});
