// Times on the administration's pages: the exact moment behind "3 hours ago", in the viewer's zone.
"use strict";

(() => {
  const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });
  for (const time of document.querySelectorAll("time[datetime]")) {
    const moment = new Date(time.dateTime);
    if (!Number.isNaN(moment.getTime())) time.title = exact.format(moment);
  }
})();
