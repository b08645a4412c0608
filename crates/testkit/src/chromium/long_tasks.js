// Runs before every document: keeps what held up the main thread for 50 ms or more, as [start, duration].
(() => {
  const tasks = [];
  const keep = (entries) => tasks.push(...entries.map(({startTime, duration}) => [startTime, duration]));
  const observer = new PerformanceObserver((list) => keep(list.getEntries()));
  observer.observe({type: 'longtask', buffered: true});
  // What the browser knows and has not told the observer yet counts, too.
  const read = () => {
    keep(observer.takeRecords());
    return tasks;
  };
  Object.defineProperty(globalThis, '__longTasks', {value: read});
})();
