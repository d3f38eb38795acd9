require('./not_there');
