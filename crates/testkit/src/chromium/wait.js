// Looks again and again, for a second, until what is looked for counts as true: gives [value], or why it is not there.
// A second, so that the driver notices when the document goes away.
((look) => new Promise((done) => {
  const until = performance.now() + 1000;
  const again = async () => {
    let why = 'it is not so';
    try {
      const value = await look();
      if (value) return done([value]);
    } catch (problem) {
      why = String(problem);
    }
    if (performance.now() > until) done(why);
    else setTimeout(again, 10);
  };
  again();
}))
