throw { not: 'an error', list: [1, 2] };
