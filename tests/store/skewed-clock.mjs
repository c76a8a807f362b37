// Loaded before a daemon (`node --import`): its wall clock is `ms` off, and jumps by `jumpMs` after `afterMs`.
const { searchParams } = new URL(import.meta.url);
const [ms, jumpMs, afterMs] = ["ms", "jumpMs", "afterMs"].map(name => Number(searchParams.get(name) ?? 0));
const wall = Date.now.bind(Date);
const begun = wall();
Date.now = () => {
  const now = wall();
  return now + ms + (now - begun >= afterMs ? jumpMs : 0);
};
