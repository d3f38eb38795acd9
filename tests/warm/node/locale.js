// env: {"TZ": "Europe/Berlin"}
console.log(new Date(86400000 * 200).toString(), (1234567.891).toLocaleString());
console.log(Intl.DateTimeFormat().resolvedOptions());
process.env.TZ = 'Asia/Tokyo';
console.log(new Date(0).toString());
